//! Writes protobuf messages.

/// A number: 7 bits in a byte, the lowest first.
pub fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A field with a length.
pub fn field(number: usize, content: &[u8]) -> Vec<u8> {
    [varint((number << 3 | 2) as u64), varint(content.len() as u64), content.to_vec()].concat()
}

/// A field with a number.
pub fn number(field: usize, value: u64) -> Vec<u8> {
    [varint((field << 3) as u64), varint(value)].concat()
}
