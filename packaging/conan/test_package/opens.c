/* Opens bytes that are no model: the library must say so. */
#include <stdio.h>
#include "tenslice.h"

int main(void)
{
    tenslice_file file;
    const int status = tenslice_file_open(&file, "?", 1, NULL);
    printf("%s\n", tenslice_status_text(status));
    return status == TENSLICE_UNKNOWN_FORMAT ? 0 : 1;
}
