// Opens a model in flash, and prints the second number of the tensor `a`.
#include <tenslice.h>

// A safetensors file of one tensor, `a`, with the two bytes 1 and 2. `tenslice embed` makes such an array from a file.
static const char model[] = "\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   \1\2";

void setup() {
  Serial.begin(115200);
  tenslice_file file;
  tenslice_bytes bytes;
  if (tenslice_file_open(&file, model, sizeof model - 1, NULL) != TENSLICE_OK) {
    Serial.println("not a model");
    return;
  }
  if (tenslice_file_get(&file, "a", 1, NULL, &bytes, NULL) == TENSLICE_OK) {
    Serial.println(static_cast<const unsigned char *>(bytes.data)[1]);
  }
}

void loop() {}
