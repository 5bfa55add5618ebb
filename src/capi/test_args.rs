//! Makes the arguments of the exported functions from what a C program passes, for the tests of src/capi.

use core::marker::PhantomData;

use super::{
    Array, Buffer, Capacity, ComplexOut, Handle, HandleMut, In, InfoIn, InfoOut, Length, OptionalIn, OptionalOut,
    Out, Scratch, ScratchLength,
};

/// Makes an argument from what a C program passes, for tests.
pub(crate) trait FromC<Raw> {
    /// # Safety
    /// `raw` is what the header requires of the argument.
    unsafe fn test_args(raw: Raw) -> Self;
}

macro_rules! test_args {
    ($($name:ident<$lifetime:lifetime $(, $of:ident)?>($raw:ty);)*) => { $(
        impl<$lifetime $(, $of)?> FromC<$raw> for $name<$lifetime $(, $of)?> {
            unsafe fn test_args(raw: $raw) -> Self {
                Self(raw, PhantomData)
            }
        }
    )* };
}

test_args! {
    Handle<'a, H>(*const H);
    Handle<'a, H>(*mut H);
    HandleMut<'a, H>(*mut H);
    In<'a, T>(*const T);
    In<'a, T>(*mut T);
    OptionalIn<'a, T>(*const T);
    InfoIn<'a, T>(*const T);
    Out<'a, T>(*mut T);
    OptionalOut<'a, T>(*mut T);
    InfoOut<'a, T>(*mut T);
    ComplexOut<'a>(*mut f64);
    Array<'a, E>(*const E);
    Length<'a>(usize);
    Buffer<'a, E>(*mut E);
    Capacity<'a>(usize);
    Scratch<'a, E>(*mut E);
    ScratchLength<'a>(usize);
}
