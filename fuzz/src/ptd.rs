//! ExecuTorch's `.ptd` files of any structure. Valid files must open and return what they were made of; otherwise one
//! thing is broken. Opening whole and in parts gives the same result, and nothing panics.

#[path = "../../tests/support/flatbuffers.rs"]
#[allow(dead_code)] // the tests use all of it
mod flatbuffers;
#[path = "../../tests/support/ptd.rs"]
#[allow(dead_code)]
mod builder;

use builder::Ptd;
use tenslice::{ErrorKind, File, Layout, Order, ReadOptions};

use crate::check;
use crate::choices::Choices;

/// The scalar types, each with the size of an element.
const TYPES: [(i8, usize); 23] = [
    (0, 1),
    (1, 1),
    (2, 2),
    (3, 4),
    (4, 8),
    (5, 2),
    (6, 4),
    (7, 8),
    (11, 1),
    (12, 1),
    (13, 1),
    (14, 4),
    (15, 2),
    (16, 1),
    (17, 1),
    (22, 2),
    (23, 1),
    (24, 1),
    (25, 1),
    (26, 1),
    (27, 2),
    (28, 4),
    (29, 8),
];

/// A file. It is valid unless a name is repeated.
fn made(choices: &mut Choices<'_>) -> Ptd {
    let mut file = Ptd::default();
    for _ in 0..choices.below(6) {
        // Few keys, so that some are repeated.
        let key = format!("{}", choices.below(60));
        if choices.one_in(4) {
            let segment = match file.segments.len() {
                count @ 1.. if choices.one_in(2) => choices.below(count) as u32,
                _ => file.segment(&choices.bytes(5)),
            };
            file.name(key, segment, None);
            continue;
        }
        let (scalar, size) = choices.of(&TYPES);
        let sizes: Vec<i32> = (0..choices.below(5)).map(|_| choices.below(4) as i32).collect();
        let mut order: Vec<u8> = (0..sizes.len() as u8).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, choices.below(i + 1));
        }
        let length = sizes.iter().product::<i32>() as usize * size;
        let seed = choices.any::<u8>();
        let data: Vec<u8> = (0..length).map(|i| seed.wrapping_mul(i as u8).wrapping_add(i as u8)).collect();
        file.ordered(&key, scalar, &sizes, order, &data);
        if choices.one_in(4) {
            // Another name of the same segment.
            let named = file.names[file.names.len() - 1].clone();
            file.name(format!("{key}b"), named.segment, named.layout);
        }
        if choices.one_in(8) {
            file.segment(&choices.bytes(5)); // without a name
        }
    }
    file
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let made = made(&mut choices);
    let mut file = made.bytes();
    if !choices.is_sound {
        choices.damage(&mut file);
        return both_ways(&file, &mut choices);
    }
    let is_twice = |i: usize| made.names[..i].iter().any(|other| other.key == made.names[i].key);
    let is_any_twice = (0..made.names.len()).any(is_twice);
    match File::open(&file) {
        Ok(opened) if !is_any_twice => same_as_made(&opened, &made),
        opened => assert_eq!(opened.map(drop).map_err(|error| (error.kind(), is_any_twice)), Err((ErrorKind::RepeatedName, true))),
    }
    both_ways(&file, &mut choices);
}

fn same_as_made(file: &File<'_>, made: &Ptd) {
    assert!(file.warnings().is_empty());
    let segments: Vec<_> = file.as_ptd().unwrap().segments().collect();
    assert_eq!(segments.iter().map(|segment| segment.length).sum::<u64>(), made.data.len() as u64);
    let mut listed = file.tensors();
    for named in &made.names {
        let tensor = listed.next().unwrap();
        assert_eq!(tensor.name().raw(), named.key);
        let (offset, length) = made.segments[named.segment as usize];
        let data = &made.data[offset as usize..(offset + length) as usize];
        let component = tensor.component("data").unwrap();
        assert_eq!((component.stored().unwrap(), component.extent()), (data, segments[named.segment as usize]));
        let Some((scalar, sizes, order)) = &named.layout else {
            assert!(tensor.layout_name() == "ptd.blob" && tensor.shape() == [length]);
            continue;
        };
        assert!(tensor.shape().iter().eq(sizes.iter().map(|size| *size as u64)));
        let stated = tensor.attributes().get_i64("scalar_type");
        assert!(tensor.dtype().is_some() == stated.is_none() && stated.is_none_or(|stated| stated == i64::from(*scalar)));
        let listed = tensor.attributes().get("dim_order").and_then(|value| value.items());
        let is_rising = order.iter().copied().eq(0..order.len() as u8);
        assert!(is_rising == listed.is_none() && listed.is_none_or(|listed| listed.count() == order.len()));
        let is_falling = order.iter().rev().copied().eq(0..order.len() as u8);
        assert_eq!(tensor.layout() == Layout::Strided, !is_rising && !is_falling);
        assert_eq!(tensor.order() == Order::ColumnMajor, is_falling && !is_rising);
        in_order(&tensor, sizes, order, data);
    }
    assert!(listed.next().is_none());
}

/// Compares the elements of a strided tensor, by the positions that its order gives them.
fn in_order(tensor: &tenslice::Tensor<'_>, sizes: &[i32], order: &[u8], data: &[u8]) {
    let Some(dtype) = tensor.dtype().filter(|_| tensor.layout() == Layout::Strided) else { return };
    let size = dtype.size().unwrap() as usize;
    let mut elements = vec![0; data.len()];
    tensor.read_into(&mut elements, ReadOptions::new()).unwrap();
    let mut strides = vec![0; sizes.len()];
    let mut next = 1;
    for dimension in order.iter().rev() {
        strides[usize::from(*dimension)] = next;
        next *= sizes[usize::from(*dimension)] as usize;
    }
    for (number, element) in elements.chunks(size).enumerate() {
        let (mut rest, mut at) = (number, 0);
        for (length, stride) in sizes.iter().zip(&strides).rev() {
            at += rest % *length as usize * stride;
            rest /= *length as usize;
        }
        assert_eq!(element, &data[at * size..(at + 1) * size]);
    }
}

/// Opens a file whole and in parts, some of which are available from the start.
fn both_ways(bytes: &[u8], choices: &mut Choices<'_>) {
    if let Ok(file) = check::open_given(bytes, &choices.ranges(bytes.len())) {
        check::verify(&file, bytes);
        file.tensors().for_each(|tensor| check::read(&tensor));
    }
}
