// The part of Arduino.h that the example uses.
#include <stddef.h>

struct Port {
    void begin(unsigned long) {}
    void println(const char *) {}
    void println(int number) { printed = number; }
    int printed;
};
extern Port Serial;
void setup();
void loop();
