//! Flash, RAM and stack of the library on chips: the limits of `examples/firmware/limits.txt`. The test
//! `sizes_are_the_limits` compares them, and writes the table.

/// The code of a format on a chip, in bytes.
pub struct Size {
    pub chip: &'static str,
    pub feature: &'static str,
    pub code: u64,
    pub ram: u64,
    /// The stack of opening, finding and reading; `None` if it was not measured.
    pub stack: Option<u64>,
}

const fn size(chip: &'static str, feature: &'static str, code: u64, ram: u64, stack: Option<u64>) -> Size {
    Size { chip, feature, code, ram, stack }
}

pub const SIZES: [Size; 27] = [
    size("m4", "safetensors", 12030, 0, Some(1308)),
    size("m4", "gguf", 13580, 0, Some(1240)),
    size("m4", "ztensor2", 16060, 0, Some(1572)),
    size("m4", "ztensor", 12990, 0, Some(1140)),
    size("m4", "npy", 9970, 0, None),
    size("m4", "npz", 18980, 0, None),
    size("m4", "tens", 9920, 0, Some(900)),
    size("m4", "blz", 5170, 0, None),
    size("m4", "b2nd", 11190, 0, Some(2040)),
    size("m0", "safetensors", 12300, 0, Some(1472)),
    size("m0", "gguf", 14890, 0, Some(1392)),
    size("m0", "ztensor2", 17180, 0, Some(1672)),
    size("m0", "ztensor", 13180, 0, Some(1176)),
    size("m0", "npy", 10140, 0, None),
    size("m0", "npz", 20020, 0, None),
    size("m0", "tens", 10780, 0, Some(1004)),
    size("m0", "blz", 5610, 0, None),
    size("m0", "b2nd", 12710, 0, Some(2340)),
    size("rv32", "safetensors", 15500, 0, Some(1328)),
    size("rv32", "gguf", 17950, 0, Some(1248)),
    size("rv32", "ztensor2", 21840, 0, Some(1628)),
    size("rv32", "ztensor", 16800, 0, Some(1160)),
    size("rv32", "npy", 12350, 0, None),
    size("rv32", "npz", 24530, 0, None),
    size("rv32", "tens", 13000, 0, Some(876)),
    size("rv32", "blz", 6800, 0, None),
    size("rv32", "b2nd", 14350, 0, Some(1884)),
];
