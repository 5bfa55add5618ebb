//! Any bytes as a chunk of a valid frame, so that they reach the codecs. The previous contents of the memory must not
//! show.

use tenslice::{File, ReadOptions};

const LARGEST: u32 = 1 << 18;

pub fn run(bytes: &[u8]) {
    // The chunk's own length, so that the frame agrees.
    let Some(&length) = bytes.get(4..).and_then(|rest| rest.first_chunk()) else { return };
    let length = u32::from_le_bytes(length);
    if length == 0 || length > LARGEST {
        return;
    }
    let mut chunk = bytes.to_vec();
    let stored = (chunk.len() as u32).to_le_bytes();
    if let Some(field) = chunk.get_mut(12..16) {
        field.copy_from_slice(&stored);
    }
    let frame = crate::sound_frame::frame_of(&chunk, length, 4);
    let file = File::open(&frame).unwrap();
    let Ok(chunk) = file.as_b2nd().unwrap().chunk(0, ReadOptions::new()) else { return };
    let decode = |fill: u8| {
        let mut room = vec![fill; length as usize];
        chunk.read_into(&mut room, ReadOptions::new().scratch(&mut vec![!fill; chunk.scratch_length() as usize])).map(|room| room.to_vec())
    };
    assert_eq!(decode(0), decode(0x5a));
}
