//! ONNX models.

use super::half_sorted;
use crate::support::protobuf::{field, number, varint};

fn model(graph: &[u8]) -> Vec<u8> {
    [number(1, 10), field(7, graph)].concat()
}

/// The message of a tensor of one byte, with more fields.
fn tensor(name: &str, fields: &[u8]) -> Vec<u8> {
    [&number(1, 1)[..], &number(2, 2), fields, &field(8, name.as_bytes()), &field(9, &[7])].concat()
}

fn initializer(name: &str) -> Vec<u8> {
    field(5, &tensor(name, &[]))
}

fn constant(name: &str) -> Vec<u8> {
    let value = field(5, &[field(1, b"value"), field(5, &tensor("", &[]))].concat());
    field(1, &[&field(2, name.as_bytes())[..], &field(4, b"Constant"), &value].concat())
}

/// A node with these fields and a graph.
fn node(fields: &[u8], graph: &[u8]) -> Vec<u8> {
    let attribute = field(5, &[field(1, b"body"), field(6, graph)].concat());
    field(1, &[fields, &attribute].concat())
}

fn name(number: usize) -> String {
    format!("layer.{number:06}.weight")
}

fn of_each(size: usize, of: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    (0..size).flat_map(of).collect()
}

pub fn tensors(size: usize) -> Vec<u8> {
    model(&of_each(size, |number| initializer(&name(number))))
}

pub fn constants(size: usize) -> Vec<u8> {
    model(&of_each(size, |number| constant(&name(number))))
}

/// The names are not sorted.
pub fn falling_names(size: usize) -> Vec<u8> {
    let order = half_sorted(size);
    model(&of_each(size, |number| initializer(&name(order[number]))))
}

/// One name is as long as all others, and behind a lot of numbers that are not packed.
pub fn long_name(size: usize) -> Vec<u8> {
    let numbers = number(5, 1).repeat(size);
    let long = [&number(2, 2)[..], &numbers, &number(1, size as u64), &field(8, &b"x".repeat(20 * size))].concat();
    let others = of_each(size, |number| initializer(&name(size - number)));
    model(&[field(5, &long), others].concat())
}

/// Nodes with a graph, in the graph of a node. Each has two tensors.
pub fn graphs(size: usize) -> Vec<u8> {
    let graph = |number| [constant(&name(number)), field(2, b"inner"), initializer("w")].concat();
    let inner = of_each(size, |number| node(&[], &graph(number)));
    model(&node(&[], &[inner, field(2, b"outer"), initializer("last")].concat()))
}

/// Chains of graphs inside each other, with a tensor in the innermost.
fn chains(size: usize, depth: usize) -> Vec<u8> {
    let chain = |number| (0..depth).fold(initializer(&name(number)), |graph, _| node(&[], &graph));
    model(&of_each(size, chain))
}

pub fn deep_graphs(size: usize) -> Vec<u8> {
    chains(size, 5)
}

pub fn deepest_graphs(size: usize) -> Vec<u8> {
    chains(size, 16)
}

/// Tensors in a graph that has 15 around it, and behind it in another one.
pub fn deep_tensors(size: usize) -> Vec<u8> {
    let tensors = of_each(size, |number| constant(&name(number)));
    let around = |graph: Vec<u8>, depth| {
        let behind = if depth == 5 { &tensors[..] } else { &[] };
        [node(&[], &graph), field(2, b"named"), behind.to_vec()].concat()
    };
    model(&(0..16).fold(tensors.clone(), around))
}

/// A graph whose name follows many tensors.
pub fn late_name(size: usize) -> Vec<u8> {
    let tensors = of_each(size, |number| constant(&name(number)));
    model(&node(&[], &[tensors, field(2, b"named")].concat()))
}

pub fn metadata(size: usize) -> Vec<u8> {
    let pair = |number| field(14, &[field(1, name(number).as_bytes()), field(2, b"a value")].concat());
    [model(&initializer("w")), of_each(size, pair)].concat()
}

pub fn tensor_metadata(size: usize) -> Vec<u8> {
    let pair = |number| field(16, &[field(1, name(number).as_bytes()), field(2, b"a value")].concat());
    model(&field(5, &tensor("w", &of_each(size, pair))))
}

pub fn rank(size: usize) -> Vec<u8> {
    model(&field(5, &tensor("w", &number(1, 1).repeat(size))))
}

pub fn packed_rank(size: usize) -> Vec<u8> {
    model(&field(5, &[field(1, &vec![1; size]), number(2, 2), field(8, b"w"), field(9, &[7])].concat()))
}

/// Fields that no version of the format defines, in every message, and nodes without tensors.
pub fn unknown_fields(size: usize) -> Vec<u8> {
    let unknown = number(999, 1).repeat(size);
    let other = field(1, &[&unknown[..], &field(1, b"input").repeat(size), &field(4, b"Add")].concat());
    let tensors = field(5, &tensor("w", &unknown));
    [model(&[&unknown[..], &other, &tensors].concat()), unknown].concat()
}

pub fn data(size: usize) -> Vec<u8> {
    model(&field(5, &[number(1, size as u64), number(2, 2), field(8, b"w"), field(9, &vec![7; size])].concat()))
}

/// Numbers in a packed run.
pub fn varints(size: usize) -> Vec<u8> {
    let run: Vec<u8> = (0..size as u64).flat_map(|number| varint(number % 300)).collect();
    model(&field(5, &[number(1, size as u64), number(2, 7), field(7, &run), field(8, b"w")].concat()))
}

/// Numbers that are not packed.
pub fn single_numbers(size: usize) -> Vec<u8> {
    let numbers = of_each(size, |value| number(7, value as u64 % 300));
    model(&field(5, &[number(1, size as u64), number(2, 7), numbers, field(8, b"w")].concat()))
}

pub fn sparse(size: usize) -> Vec<u8> {
    let values = field(1, &[number(1, size as u64), number(2, 2), field(8, b"s"), field(9, &vec![7; size])].concat());
    let indices: Vec<u8> = (0..size).flat_map(|index| (2 * index as u64).to_le_bytes()).collect();
    let indices = field(2, &[number(1, size as u64), number(2, 7), field(9, &indices)].concat());
    model(&field(15, &[values, indices, number(3, 2 * size as u64)].concat()))
}

/// Tensors with data in other files.
pub fn shards(size: usize) -> Vec<u8> {
    let pair = |key: &str, value: &str| field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat());
    let place = |index: usize| {
        let pairs = [pair("location", &format!("{index}.bin")), pair("offset", "4096")].concat();
        let fields = [number(1, 4), number(2, 1), pairs, number(14, 1)].concat();
        field(5, &[fields, field(8, name(index).as_bytes())].concat())
    };
    model(&of_each(size, place))
}

/// The last tensor has too few bytes.
pub fn spoiled(size: usize) -> Vec<u8> {
    let last = field(5, &[number(1, 2), number(2, 2), field(8, b"w"), field(9, &[7])].concat());
    model(&[of_each(size, |number| initializer(&name(number))), last].concat())
}
