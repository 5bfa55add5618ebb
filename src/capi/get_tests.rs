//! Calls the functions that get the numbers of a tensor.

use super::super::get_f32::*;
use super::*;

/// The tensor that a call expects.
pub(super) fn expecting(dtype: u32, rank: usize, shape: &[u64]) -> tenslice_expected {
    let struct_size = u32::try_from(size_of::<tenslice_expected>()).unwrap();
    tenslice_expected { struct_size, dtype, rank, shape: shape.as_ptr() }
}

/// Gets "t.float64", of 2 rows and 3 columns, as floats.
///
/// # Safety
/// `file` has this tensor, `index` is an index of it, and `tensor` is the tensor.
pub(super) unsafe fn numbers(file: *mut tenslice_file, index: *mut tenslice_index, tensor: *mut tenslice_tensor) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        places!(room: [f32; 6], numbers: tenslice_floats, error: tenslice_error);
        infos!(needed: tenslice_requirements);
        let (name, shape, room) = (of("t.float64"), [2_u64, 3], room.cast::<f32>());
        let whole = expecting(0, 2, &shape);
        let whole = &raw const whole;
        let none = call!(tenslice_tensor_get_f32(tensor, whole, null_mut(), 0, null(), numbers, needed, error));
        assert_eq!((none, (*needed).output, (*needed).scratch), (code(ErrorKind::TooSmall), 6, 0));
        ok!(
            tenslice_tensor_get_f32(tensor, whole, room, 6, null(), numbers, null_mut(), error),
            tenslice_file_get_f32(file, name, 9, whole, room, 6, null(), numbers, null_mut(), error),
            tenslice_index_get_f32(index, name, 9, whole, room, 6, null(), numbers, needed, error)
        );
        assert_eq!((numbers.read().data, numbers.read().length), (room.cast_const(), 6));
        let cut = tenslice_expected { struct_size: 4, ..*whole };
        let cut = call!(tenslice_tensor_get_f32(tensor, &raw const cut, room, 6, null(), numbers, needed, error));
        assert_eq!(cut, code(ErrorKind::InvalidArgument));
    }
}
