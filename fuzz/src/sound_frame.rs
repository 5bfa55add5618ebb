//! A valid Blosc2 frame of one chunk.

/// A frame of bytes with `chunk` as its only chunk, and with the given `typesize` and decoded length.
pub fn frame_of(chunk: &[u8], length: u32, typesize: u32) -> Vec<u8> {
    const NO_METALAYERS: &[u8] = &[0x93, 0xcd, 0, 0, 0xde, 0, 0, 0xdc, 0, 0];
    let header_length = 97_u32;
    let frame_length = u64::from(header_length) + chunk.len() as u64 + 40 + 35;
    let mut frame = b"\x9e\xa8b2frame\0\xd2".to_vec();
    frame.extend(header_length.to_be_bytes());
    frame.push(0xcf);
    frame.extend(frame_length.to_be_bytes());
    frame.extend([0xa4, 0x12, 0, 0, 0]);
    for number in [i64::from(length), chunk.len() as i64] {
        frame.push(0xd3);
        frame.extend(number.to_be_bytes());
    }
    for number in [typesize, 0, length] {
        frame.push(0xd2);
        frame.extend(number.to_be_bytes());
    }
    frame.extend([0xd1, 0, 1, 0xd1, 0, 1, 0xc2, 0xd8, 6]);
    frame.extend([0; 16]);
    frame.extend(NO_METALAYERS);
    frame.extend(chunk);
    // The table of offsets: one offset of 0, copied.
    frame.extend([5, 1, 0x07, 8, 8, 0, 0, 0, 8, 0, 0, 0, 40, 0, 0, 0]);
    frame.extend([0; 16 + 8]);
    frame.extend([0x94, 1]);
    frame.extend(NO_METALAYERS);
    frame.push(0xce);
    frame.extend(35_u32.to_be_bytes());
    frame.extend([0xd8, 0]);
    frame.extend([0; 16]);
    assert_eq!(frame.len() as u64, frame_length);
    frame
}
