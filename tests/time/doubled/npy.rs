//! NPY files.

/// Records of `size` fields.
pub fn fields(size: usize) -> Vec<u8> {
    npy(&format!("[{}]", fields_of(0..size, "'<f4'")), "(0,)", &[])
}

/// Fields with descending names.
pub fn falling_fields(size: usize) -> Vec<u8> {
    npy(&format!("[{}]", fields_of((0..size).rev(), "'<f4'")), "(0,)", &[])
}

/// Fields, one of which has a name as long as all others together.
pub fn long_field(size: usize) -> Vec<u8> {
    let long = format!("('{}', '<f4'), ", "x".repeat(18 * size));
    npy(&format!("[{}{long}]", fields_of((0..size).rev(), "'<f4'")), "(0,)", &[])
}

fn fields_of(numbers: impl Iterator<Item = usize>, descr: &str) -> String {
    numbers.map(|i| format!("('{i:06}', {descr}), ")).collect()
}

/// Records of `size` fields, each of records nested to the largest depth.
pub fn nested_fields(size: usize) -> Vec<u8> {
    let nested = format!("{}'<f4'{}", "[('x', ".repeat(30), ")]".repeat(30));
    npy(&format!("[{}]", fields_of(0..size, &nested)), "(0,)", &[])
}

/// A field with `size` escapes in its title.
pub fn escapes(size: usize) -> Vec<u8> {
    npy(&format!("[(('{}', 'x'), '<f4')]", "\\n".repeat(size)), "(0,)", &[])
}

/// A shape of `size` lengths.
pub fn lengths(size: usize) -> Vec<u8> {
    npy("'|u1'", &format!("(0, {})", "1, ".repeat(size)), &[])
}

/// Records, the last field of which has an unknown type.
pub fn spoiled(size: usize) -> Vec<u8> {
    npy(&format!("[{}('y', '<q9')]", fields_of(0..size, "'<f4'")), "(0,)", &[])
}

pub fn items(size: usize) -> Vec<u8> {
    npy("'>f4'", &format!("({size},)"), &vec![7; 4 * size])
}

/// An array with these items.
pub fn npy(descr: &str, shape: &str, items: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n");
    [&b"\x93NUMPY\x02\0"[..], &(header.len() as u32).to_le_bytes(), header.as_bytes(), items].concat()
}
