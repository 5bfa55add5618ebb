//! ONNX files, and their peer: the messages in the shape in which prost generates them from onnx.proto, of which these are
//! the ones that a model of weights has.

use std::hint::black_box;

use bytes::Bytes;
use prost::Message;

use crate::files::name;

#[derive(Clone, PartialEq, Message)]
pub struct Model {
    #[prost(int64, optional, tag = "1")]
    ir_version: Option<i64>,
    #[prost(string, optional, tag = "2")]
    producer_name: Option<String>,
    #[prost(string, optional, tag = "3")]
    producer_version: Option<String>,
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    opset_import: Vec<Opset>,
    #[prost(message, repeated, tag = "14")]
    metadata: Vec<Pair>,
}

#[derive(Clone, PartialEq, Message)]
struct Opset {
    #[prost(string, optional, tag = "1")]
    domain: Option<String>,
    #[prost(int64, optional, tag = "2")]
    version: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Pair {
    #[prost(string, optional, tag = "1")]
    key: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Graph {
    #[prost(message, repeated, tag = "1")]
    node: Vec<Node>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, repeated, tag = "5")]
    initializer: Vec<Tensor>,
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(string, repeated, tag = "1")]
    input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    output: Vec<String>,
    #[prost(string, optional, tag = "3")]
    name: Option<String>,
    #[prost(string, optional, tag = "4")]
    op_type: Option<String>,
    #[prost(string, optional, tag = "7")]
    domain: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Tensor {
    // The schema does not ask for packed numbers.
    #[prost(int64, repeated, packed = "false", tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    data_type: Option<i32>,
    #[prost(float, repeated, tag = "4")]
    float_data: Vec<f32>,
    #[prost(int32, repeated, tag = "5")]
    int32_data: Vec<i32>,
    #[prost(bytes = "bytes", repeated, tag = "6")]
    string_data: Vec<Bytes>,
    #[prost(int64, repeated, tag = "7")]
    int64_data: Vec<i64>,
    #[prost(string, optional, tag = "8")]
    name: Option<String>,
    #[prost(bytes = "bytes", optional, tag = "9")]
    raw_data: Option<Bytes>,
    #[prost(double, repeated, tag = "10")]
    double_data: Vec<f64>,
    #[prost(uint64, repeated, tag = "11")]
    uint64_data: Vec<u64>,
    #[prost(message, repeated, tag = "13")]
    external_data: Vec<Pair>,
    #[prost(int32, optional, tag = "14")]
    data_location: Option<i32>,
}

/// Writes a model of `size` weights, each with the node that uses it, in the order in which PyTorch writes.
pub fn file(size: usize) -> Vec<u8> {
    let text = |text: &str| Some(text.to_string());
    let node = |i: usize| Node {
        input: vec![format!("/layers.{i}/output"), name(i)],
        output: vec![format!("/layers.{}/output", i + 1)],
        name: Some(format!("/layers.{i}/MatMul")),
        op_type: text("MatMul"),
        domain: None,
    };
    let tensor = |i| Tensor {
        dims: vec![4, 8],
        data_type: Some(1),
        name: Some(name(i)),
        raw_data: Some(Bytes::from_static(&[0; 128])),
        ..Tensor::default()
    };
    let graph = Graph {
        node: (0..size).map(node).collect(),
        name: text("main_graph"),
        initializer: (0..size).map(tensor).collect(),
    };
    let model = Model {
        ir_version: Some(8),
        producer_name: text("pytorch"),
        producer_version: text("2.9.0"),
        graph: Some(graph),
        opset_import: vec![Opset { domain: text(""), version: Some(18) }],
        metadata: Vec::new(),
    };
    model.encode_to_vec()
}

/// Decodes a model. Its weights are slices of `bytes`, all else is copied.
pub fn open(bytes: &Bytes) -> Model {
    Model::decode(bytes.clone()).expect("what the crate has written")
}

impl Model {
    pub fn tensor_count(&self) -> u64 {
        self.graph.iter().map(|graph| graph.initializer.len() as u64).sum()
    }

    /// The sum of all element counts and data offsets in `bytes`, which the model was decoded from.
    pub fn list(&self, bytes: &[u8]) -> u64 {
        let numbers = |tensor: &Tensor| {
            black_box(tensor.data_type);
            let data = tensor.raw_data.as_ref().expect("raw data");
            tensor.dims.iter().product::<i64>() as u64 + crate::work::offset_of(data, bytes)
        };
        self.graph.iter().flat_map(|graph| &graph.initializer).map(numbers).sum()
    }
}
