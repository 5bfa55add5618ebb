// Compiled only if no folder here has a library for the board (`precompiled=full`).
#error "tenslice has no library for this board: it has for Cortex-M0, M0+, M3, M4, M7, M23, M33 and ESP32-C2, C3, C5, C6, H2, P4"
