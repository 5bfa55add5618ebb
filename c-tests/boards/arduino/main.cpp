// Runs a sketch once, as the cores of Arduino do. Arduino.h is included on the command line.
Port Serial;

int main()
{
    setup();
    loop();
    return Serial.printed == 2 ? 0 : 1;
}
