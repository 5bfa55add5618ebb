/* Calls a function of the documentation (-DFUNCTION=NAME) with the bytes of a file: docs.sh. Compiled as C or C++, like
   the function. Arguments: the folder of the repository, the file. */
#include "support.h"

int FUNCTION(const void *bytes, size_t size);

int main(int argc, char **argv)
{
    blob b;
    CHECK(argc == 3);
    b = load(argv[1], argv[2]);
    CHECK(FUNCTION(b.data, b.size) == 0);
    free(b.data);
    return 0;
}
