//! TFLite files, and their peer: the accessors in the shape in which flatc generates them from the schema, of the tables
//! that lead to constants. The crate flatbuffers verifies them.

use std::hint::black_box;

use flatbuffers::{
    FlatBufferBuilder, Follow, ForwardsUOffset, InvalidFlatbuffer, Table, VOffsetT, Vector, Verifiable, Verifier,
    VerifierOptions, WIPOffset,
};

use crate::files::name;

/// The fields of a table: the place of each in its vtable.
const fn slot(number: VOffsetT) -> VOffsetT {
    4 + 2 * number
}

/// Defines a table and the fields that its verifier visits.
macro_rules! table {
    ($name:ident: $($field:literal $kind:ty),*) => {
        #[derive(Clone, Copy)]
        pub struct $name<'a>(Table<'a>);

        impl<'a> Follow<'a> for $name<'a> {
            type Inner = Self;

            unsafe fn follow(bytes: &'a [u8], at: usize) -> Self {
                // SAFETY: the verifier has visited the table.
                Self(unsafe { Table::new(bytes, at) })
            }
        }

        impl Verifiable for $name<'_> {
            fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), InvalidFlatbuffer> {
                verifier.visit_table(at)?$(.visit_field::<$kind>(stringify!($field), slot($field), false)?)*.finish();
                Ok(())
            }
        }

        impl<'a> $name<'a> {
            #[allow(dead_code)]
            fn get<T: Follow<'a> + 'a>(&self, number: VOffsetT) -> Option<T::Inner> {
                // SAFETY: the callers ask for the types that the verifier has visited.
                unsafe { self.0.get::<T>(slot(number), None) }
            }
        }
    };
}

type Offset<T> = ForwardsUOffset<T>;
type Numbers<'a, T> = ForwardsUOffset<Vector<'a, T>>;
type Tables<'a, T> = ForwardsUOffset<Vector<'a, ForwardsUOffset<T>>>;

// Model: version, subgraphs, description, buffers. Tensor: shape, type, buffer, name, quantization, is_variable,
// shape_signature, has_rank, external_buffer. Quantization: min, max, scale, zero_point, quantized_dimension. Buffer: data,
// offset, size.
table!(Model: 0 u32, 2 Tables<SubGraph>, 3 Offset<&str>, 4 Tables<Buffer>);
table!(SubGraph: 0 Tables<Tensor>, 1 Numbers<i32>, 2 Numbers<i32>, 4 Offset<&str>);
table!(Tensor: 0 Numbers<i32>, 1 i8, 2 u32, 3 Offset<&str>, 4 Offset<Quantization>, 5 bool, 7 Numbers<i32>, 8 bool, 10 u32);
table!(Quantization: 0 Numbers<f32>, 1 Numbers<f32>, 2 Numbers<f32>, 3 Numbers<i64>, 6 i32);
table!(Buffer: 0 Numbers<u8>, 1 u64, 2 u64);

/// Verifies a model. By default, the verifier refuses more than a million tables.
pub fn open(bytes: &[u8]) -> Model<'_> {
    let options = VerifierOptions::default();
    flatbuffers::root_with_opts::<Model<'_>>(&options, bytes).expect("what the crate has written")
}

impl<'a> Model<'a> {
    fn tensors(&self) -> impl Iterator<Item = Tensor<'a>> {
        let subgraphs = self.get::<Tables<SubGraph>>(2).expect("subgraphs");
        subgraphs.iter().filter_map(|subgraph| subgraph.get::<Tables<Tensor>>(0)).flatten()
    }

    /// The number of tensors with bytes.
    pub fn tensor_count(&self) -> u64 {
        let buffers = self.get::<Tables<Buffer>>(4).expect("buffers");
        let is_constant = |tensor: &Tensor<'_>| buffers.get(tensor.buffer()).get::<Numbers<u8>>(0).is_some();
        self.tensors().filter(is_constant).count() as u64
    }

    /// The sum of all element counts and data offsets.
    pub fn list(&self, bytes: &[u8]) -> u64 {
        let buffers = self.get::<Tables<Buffer>>(4).expect("buffers");
        let numbers = |tensor: Tensor<'_>| {
            black_box(tensor.get::<i8>(1));
            let data = buffers.get(tensor.buffer()).get::<Numbers<u8>>(0)?;
            let shape = tensor.get::<Numbers<i32>>(0).expect("a shape");
            Some(shape.iter().map(|length| length as u64).product::<u64>() + crate::work::offset_of(data.bytes(), bytes))
        };
        self.tensors().filter_map(numbers).sum()
    }
}

impl Tensor<'_> {
    fn buffer(&self) -> usize {
        self.get::<u32>(2).unwrap_or(0) as usize
    }
}

/// Writes a model of `size` weights of 8 bits with a scale and a zero point, each in a buffer of its own.
pub fn file(size: usize) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let empty = builder.start_table();
    let mut buffers = vec![builder.end_table(empty)];
    let mut tensors = Vec::new();
    for i in 0..size {
        let data = builder.create_vector(&[0_u8; 128]);
        let buffer = builder.start_table();
        builder.push_slot_always(slot(0), data);
        buffers.push(builder.end_table(buffer));

        let scale = builder.create_vector(&[0.5_f32]);
        let zero_point = builder.create_vector(&[3_i64]);
        let quantization = builder.start_table();
        builder.push_slot_always(slot(3), zero_point);
        builder.push_slot_always(slot(2), scale);
        let quantization = builder.end_table(quantization);

        let name = builder.create_string(&name(i));
        let shape = builder.create_vector(&[4_i32, 32]);
        let tensor = builder.start_table();
        builder.push_slot_always(slot(4), quantization);
        builder.push_slot_always(slot(3), name);
        builder.push_slot_always(slot(2), i as u32 + 1);
        builder.push_slot_always(slot(0), shape);
        builder.push_slot_always(slot(8), true);
        builder.push_slot_always(slot(1), 9_i8); // INT8
        tensors.push(builder.end_table(tensor));
    }
    let tensors: Vec<WIPOffset<Tensor<'_>>> = tensors.into_iter().map(|tensor| WIPOffset::new(tensor.value())).collect();
    let tensors = builder.create_vector(&tensors);
    let name = builder.create_string("main");
    let subgraph = builder.start_table();
    builder.push_slot_always(slot(4), name);
    builder.push_slot_always(slot(0), tensors);
    let subgraph = WIPOffset::<SubGraph<'_>>::new(builder.end_table(subgraph).value());
    let subgraphs = builder.create_vector(&[subgraph]);
    let buffers: Vec<WIPOffset<Buffer<'_>>> = buffers.into_iter().map(|buffer| WIPOffset::new(buffer.value())).collect();
    let buffers = builder.create_vector(&buffers);
    let description = builder.create_string("MLIR Converted.");
    let model = builder.start_table();
    builder.push_slot_always(slot(4), buffers);
    builder.push_slot_always(slot(3), description);
    builder.push_slot_always(slot(2), subgraphs);
    builder.push_slot_always(slot(0), 3_u32);
    let model = builder.end_table(model);
    builder.finish(model, Some("TFL3"));
    builder.finished_data().to_vec()
}
