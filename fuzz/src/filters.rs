//! Chains of filters, undone and compared with a byte-by-byte implementation. The first bytes choose them.

use tenslice::{File, ReadOptions};

pub fn run(bytes: &[u8]) {
    let Some((choice, data)) = bytes.split_first_chunk::<14>() else { return };
    if data.is_empty() {
        return;
    }
    let [typesize, block, filters @ ..] = *choice;
    let typesize = typesize.max(1);
    let block = (usize::from(block) * 8 + 1).min(data.len());
    let ids: [u8; 6] = std::array::from_fn(|i| [0, 1, 2, 3, 4, 34, 35, 36][usize::from(filters[i]) % 8]);
    let metas: [u8; 6] = std::array::from_fn(|i| filters[6 + i]);

    // Uncompressed blocks, so that only the filters have to be undone.
    let count = data.len().div_ceil(block);
    let mut chunk = vec![5, 1, 0x15, typesize];
    let mut places = Vec::new();
    let mut streams = Vec::new();
    for part in data.chunks(block) {
        places.extend(((32 + 4 * count + streams.len()) as u32).to_le_bytes());
        streams.extend((part.len() as u32).to_le_bytes());
        streams.extend(part);
    }
    chunk.extend((data.len() as u32).to_le_bytes());
    chunk.extend((block as u32).to_le_bytes());
    chunk.extend(((32 + places.len() + streams.len()) as u32).to_le_bytes());
    chunk.extend(ids);
    chunk.extend([0, 0]);
    chunk.extend(metas);
    chunk.extend([0, 0]);
    chunk.extend(places);
    chunk.extend(streams);
    let frame = crate::sound_frame::frame_of(&chunk, data.len() as u32, 3);
    let file = File::open(&frame).unwrap();
    let chunk = file.as_b2nd().unwrap().chunk(0, ReadOptions::new()).unwrap();
    let mut room = vec![0x77; data.len()];
    let found = chunk.read_into(&mut room, ReadOptions::new().scratch(&mut vec![0x88; chunk.scratch_length() as usize])).unwrap();

    let mut expected: Vec<u8> = Vec::new();
    for part in data.chunks(block) {
        let mut part = part.to_vec();
        for (id, meta) in ids.iter().zip(metas).rev() {
            let own = usize::from(if meta == 0 { typesize } else { meta });
            let width = usize::from(if meta == 0 { 3 } else { meta });
            part = match id {
                1 => unshuffle(&part, own),
                2 => unbitshuffle(&part, usize::from(typesize)),
                3 => {
                    let first = &expected[..block.min(expected.len())];
                    undelta(&part, usize::from(typesize), Some(first).filter(|first| !first.is_empty()))
                }
                34 | 35 => unbytedelta(&part, width, *id == 34),
                _ => part,
            };
        }
        expected.extend(part);
    }
    assert_eq!(found, expected);
}

fn unshuffle(bytes: &[u8], width: usize) -> Vec<u8> {
    let count = bytes.len() / width;
    let mut result = bytes.to_vec();
    for element in 0..count {
        for byte in 0..width {
            result[element * width + byte] = bytes[byte * count + element];
        }
    }
    result
}

fn unbitshuffle(bytes: &[u8], width: usize) -> Vec<u8> {
    let count = bytes.len() / width / 8 * 8;
    let mut result = bytes.to_vec();
    for element in 0..count {
        for byte in 0..width {
            let bit = |k: usize| bytes[(byte * 8 + k) * (count / 8) + element / 8] >> (element % 8) & 1;
            result[element * width + byte] = (0..8).map(|k| bit(k) << k).sum();
        }
    }
    result
}

fn undelta(bytes: &[u8], typesize: usize, first: Option<&[u8]>) -> Vec<u8> {
    let word = match typesize {
        1 | 2 | 4 | 8 => typesize,
        _ if typesize.is_multiple_of(8) => 8,
        _ => 1,
    };
    let mut result = bytes.to_vec();
    for i in 0..bytes.len() / word * word {
        match first {
            Some(first) => result[i] ^= first[i],
            None if i >= word => result[i] ^= result[i - word],
            None => {}
        }
    }
    result
}

fn unbytedelta(bytes: &[u8], width: usize, restarts: bool) -> Vec<u8> {
    let count = bytes.len() / width;
    let mut result = bytes.to_vec();
    for plane in 0..width {
        let mut sum = 0_u8;
        for i in 0..count {
            if restarts && i == count / 16 * 16 {
                sum = 0;
            }
            sum = sum.wrapping_add(result[plane * count + i]);
            result[plane * count + i] = sum;
        }
    }
    result
}
