//! Attributes: named values of a file or a tensor, and the values inside them.
//!
//! Each format stores attributes in its own way; the API is the same for all formats.
#![forbid(unsafe_code)]

#[cfg(any(feature = "ztensor", feature = "ztensor2"))]
mod cbor;
#[cfg(any(feature = "ptd", feature = "tflite"))]
mod flatbuffers;
#[cfg(feature = "gguf")]
mod gguf;
#[cfg(feature = "safetensors")]
mod json;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "pytorch")]
mod pytorch;
#[cfg(feature = "tflite")]
mod tflite;

use core::iter::FusedIterator;
use core::marker::PhantomData;

#[cfg(any(feature = "ptd", feature = "tflite"))]
pub(crate) use self::flatbuffers::{Kind, Number, Property};
use crate::bytes::extent::Extent;
use crate::bytes::text::Text;
use crate::error::Error;
use crate::error::abi_enum::abi_enum;

/// The value of an attribute.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Null.
    Null,
    /// Undefined.
    Undefined,
    /// A boolean.
    Bool(bool),
    /// An integer from -2^64 to 2^64 - 1.
    Integer(i128),
    /// A floating-point number of 16, 32 or 64 bits, widened without loss.
    Float(f64),
    /// A decimal number as JSON writes it, with a fraction or an exponent, or an integer of more than 64 bits.
    Decimal(Text<'a>),
    /// Another simple value, given by its number.
    Simple(u8),
    /// A text string.
    Text(Text<'a>),
    /// A byte string.
    Bytes(&'a [u8]),
    /// A list of values.
    Array(Attributes<'a>),
    /// A map.
    Map(Attributes<'a>),
    /// A tag, and the single value that it applies to.
    Tagged(u64, Attributes<'a>),
    /// A text string in chunks, each a [`Value::Text`].
    TextChunks(Attributes<'a>),
    /// A byte string in chunks, each a [`Value::Bytes`].
    ByteChunks(Attributes<'a>),
}

abi_enum! {
    /// The kind of a [`Value`].
    ValueKind: u8 {
        Null = 1, "null";
        Undefined = 2, "undefined";
        Bool = 3, "boolean";
        Integer = 4, "integer";
        Float = 5, "floating-point number";
        Simple = 6, "simple value";
        Text = 7, "text";
        Bytes = 8, "byte string";
        Array = 9, "list";
        Map = 10, "map";
        Tagged = 11, "tagged value";
        TextChunks = 12, "text in chunks";
        ByteChunks = 13, "byte string in chunks";
        Decimal = 14, "decimal number";
    }
}

impl<'a> Value<'a> {
    /// Returns the kind of the value.
    #[must_use]
    pub const fn kind(&self) -> ValueKind {
        match self {
            Self::Null => ValueKind::Null,
            Self::Undefined => ValueKind::Undefined,
            Self::Bool(_) => ValueKind::Bool,
            Self::Integer(_) => ValueKind::Integer,
            Self::Float(_) => ValueKind::Float,
            Self::Decimal(_) => ValueKind::Decimal,
            Self::Simple(_) => ValueKind::Simple,
            Self::Text(_) => ValueKind::Text,
            Self::Bytes(_) => ValueKind::Bytes,
            Self::Array(_) => ValueKind::Array,
            Self::Map(_) => ValueKind::Map,
            Self::Tagged(..) => ValueKind::Tagged,
            Self::TextChunks(_) => ValueKind::TextChunks,
            Self::ByteChunks(_) => ValueKind::ByteChunks,
        }
    }

    /// Returns the text string; `None` for any other kind.
    #[must_use]
    pub const fn as_text(&self) -> Option<Text<'a>> {
        if let Self::Text(text) = self { Some(*text) } else { None }
    }

    /// Returns the text string if the file stores it without escapes: see [`Text::as_str`]. `None` for any other kind.
    #[must_use]
    pub const fn as_str(&self) -> Option<&'a str> {
        if let Self::Text(text) = self { text.as_str() } else { None }
    }

    /// Returns the bytes of a byte string; `None` for any other kind.
    #[must_use]
    pub const fn as_bytes(&self) -> Option<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// Returns the boolean; `None` for any other kind.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the integer; `None` for any other kind, or if the integer does not fit.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::Integer(integer) = self { i64::try_from(*integer).ok() } else { None }
    }

    /// Returns the integer; `None` for any other kind, or if the integer does not fit.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        if let Self::Integer(integer) = self { u64::try_from(*integer).ok() } else { None }
    }

    /// Returns the floating-point number; `None` for any other kind, including integers.
    #[must_use]
    pub const fn as_f64(&self) -> Option<f64> {
        if let Self::Float(number) = self { Some(*number) } else { None }
    }

    /// Returns the values inside this value; `None` if the value contains no others.
    #[must_use]
    pub const fn items(&self) -> Option<Attributes<'a>> {
        match self {
            Self::Array(items)
            | Self::Map(items)
            | Self::Tagged(_, items)
            | Self::TextChunks(items)
            | Self::ByteChunks(items) => Some(*items),
            _ => None,
        }
    }
}

/// An attribute: an item of [`Attributes`].
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'a> {
    /// The key, in a map usually a text string; `None` if the values are not in a map.
    pub key: Option<Value<'a>>,
    /// The value.
    pub value: Value<'a>,
}

/// The attributes of a file or a tensor, or the values inside a value: an iterator over the bytes.
///
/// The structure was checked when the file was opened. If the bytes have changed since, the iterator ends early and
/// [`error`](Self::error) returns the reason.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a>(Inner<'a>);

/// The values, in the encoding of the format.
#[derive(Clone, Copy, Debug)]
enum Inner<'a> {
    None(PhantomData<&'a [u8]>),
    #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
    Cbor(cbor::Items<'a>),
    #[cfg(any(feature = "ptd", feature = "tflite"))]
    Flatbuffers(flatbuffers::Items<'a>),
    #[cfg(feature = "gguf")]
    Gguf(gguf::Items<'a>),
    #[cfg(feature = "safetensors")]
    Json(json::Items<'a>),
    #[cfg(feature = "pytorch")]
    Pytorch(pytorch::Items<'a>),
    #[cfg(feature = "onnx")]
    Onnx(onnx::Items<'a>),
    #[cfg(feature = "tflite")]
    Tflite(tflite::Items<'a>),
}

/// The items of a value. Those of a PyTorch checkpoint, of an ONNX model or of a TFLite model are never inside a value:
/// they would need more memory.
#[cfg(feature = "capi")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nested<'a>(Inside<'a>);

#[cfg(feature = "capi")]
#[derive(Clone, Copy, Debug)]
enum Inside<'a> {
    None(PhantomData<&'a [u8]>),
    #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
    Cbor(cbor::Items<'a>),
    #[cfg(any(feature = "ptd", feature = "tflite"))]
    Flatbuffers(flatbuffers::Items<'a>),
    #[cfg(feature = "gguf")]
    Gguf(gguf::Items<'a>),
    #[cfg(feature = "safetensors")]
    Json(json::Items<'a>),
}

#[cfg(feature = "capi")]
impl<'a> From<Attributes<'a>> for Nested<'a> {
    fn from(items: Attributes<'a>) -> Self {
        Self(match items.0 {
            Inner::None(none) => Inside::None(none),
            #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
            Inner::Cbor(items) => Inside::Cbor(items),
            #[cfg(any(feature = "ptd", feature = "tflite"))]
            Inner::Flatbuffers(items) => Inside::Flatbuffers(items),
            #[cfg(feature = "gguf")]
            Inner::Gguf(items) => Inside::Gguf(items),
            #[cfg(feature = "safetensors")]
            Inner::Json(items) => Inside::Json(items),
            #[cfg(feature = "pytorch")]
            Inner::Pytorch(_) => Inside::None(PhantomData),
            #[cfg(feature = "onnx")]
            Inner::Onnx(_) => Inside::None(PhantomData),
            #[cfg(feature = "tflite")]
            Inner::Tflite(_) => Inside::None(PhantomData),
        })
    }
}

#[cfg(feature = "capi")]
impl<'a> From<Nested<'a>> for Attributes<'a> {
    fn from(items: Nested<'a>) -> Self {
        Self(match items.0 {
            Inside::None(none) => Inner::None(none),
            #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
            Inside::Cbor(items) => Inner::Cbor(items),
            #[cfg(any(feature = "ptd", feature = "tflite"))]
            Inside::Flatbuffers(items) => Inner::Flatbuffers(items),
            #[cfg(feature = "gguf")]
            Inside::Gguf(items) => Inner::Gguf(items),
            #[cfg(feature = "safetensors")]
            Inside::Json(items) => Inner::Json(items),
        })
    }
}

impl<'a> Attributes<'a> {
    /// No attributes.
    pub(crate) const NONE: Self = Self(Inner::None(PhantomData));

    /// Returns the reason why the iterator ended early: the bytes have changed since the file was opened.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        match &self.0 {
            Inner::None(_) => None,
            #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
            Inner::Cbor(items) => items.error(),
            #[cfg(any(feature = "ptd", feature = "tflite"))]
            Inner::Flatbuffers(items) => items.error(),
            #[cfg(feature = "gguf")]
            Inner::Gguf(items) => items.error(),
            #[cfg(feature = "safetensors")]
            Inner::Json(items) => items.error(),
            #[cfg(feature = "pytorch")]
            Inner::Pytorch(items) => items.error(),
            #[cfg(feature = "onnx")]
            Inner::Onnx(items) => items.error(),
            #[cfg(feature = "tflite")]
            Inner::Tflite(items) => items.error(),
        }
    }

    /// Returns the number of items left, if it is known: in GGUF, and 0 in formats without attributes.
    #[must_use]
    pub const fn length(&self) -> Option<u64> {
        match &self.0 {
            Inner::None(_) => Some(0),
            #[cfg(feature = "gguf")]
            Inner::Gguf(items) => Some(items.length()),
            #[allow(unreachable_patterns)] // in a build with no other format that has attributes
            _ => None,
        }
    }

    /// Returns the place in the file of the remaining items of a GGUF list. `None` for all other items, which are in
    /// memory once the file is open.
    ///
    /// If the file was opened from a [`Source`](crate::Source), the items of a long list may be missing, and iterating
    /// ends with the error `NotInMemory`: fetch this range, add it to the source, and open the file again. Constant
    /// cost.
    #[must_use]
    pub fn extent(&self) -> Option<Extent> {
        match &self.0 {
            #[cfg(feature = "gguf")]
            Inner::Gguf(items) => items.extent(),
            _ => None,
        }
    }

    /// Returns the type that a GGUF file states for the next value: of a pair, or of the elements of a list. `None` in
    /// other formats, at the end, and if the bytes have changed since the file was opened.
    ///
    /// A [`Value`] does not state the width of a number. This type keeps it when metadata is copied to another file.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/gguf/kv_all_types.gguf");
    /// use tenslice::gguf::ValueType;
    ///
    /// let file = tenslice::File::open(bytes)?;
    /// let mut attributes = file.attributes();
    /// while let Some(value_type) = attributes.value_type() {
    ///     let attribute = attributes.next().ok_or("the file has changed")?;
    ///     println!("{:?}: {value_type}, {:?}", attribute.key, attribute.value);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "gguf")]
    #[must_use]
    pub fn value_type(&self) -> Option<crate::codec::gguf::ValueType> {
        match self.0 {
            Inner::Gguf(items) => items.value_type(),
            #[allow(unreachable_patterns)]
            _ => None,
        }
    }

    /// Returns the text string with the key `key`: see [`get`](Self::get). `None` for any other kind of value, or if
    /// the string is spelled with escapes. [`get`](Self::get) and [`Value::as_text`] also return strings with escapes.
    #[must_use]
    pub fn get_str(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_str()
    }

    /// Returns the integer with the key `key`: see [`get`](Self::get). `None` for any other kind of value, or if the
    /// integer does not fit.
    #[must_use]
    pub fn get_u64(&self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    /// Returns the integer with the key `key`: see [`get`](Self::get). `None` for any other kind of value, or if the
    /// integer does not fit.
    #[must_use]
    pub fn get_i64(&self, key: &str) -> Option<i64> {
        self.get(key)?.as_i64()
    }

    /// Returns the floating-point number with the key `key`: see [`get`](Self::get). `None` for any other kind of
    /// value, including integers.
    #[must_use]
    pub fn get_f64(&self, key: &str) -> Option<f64> {
        self.get(key)?.as_f64()
    }

    /// Returns the boolean with the key `key`: see [`get`](Self::get). `None` for any other kind of value.
    #[must_use]
    pub fn get_bool(&self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    /// Returns the list with the key `key`: see [`get`](Self::get). `None` for any other kind of value.
    #[must_use]
    pub fn get_list(&self, key: &str) -> Option<Attributes<'a>> {
        if let Value::Array(items) = self.get(key)? { Some(items) } else { None }
    }

    /// Returns the value of the first attribute whose key is the text string `key`. Linear in the bytes before it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        let mut all = *self;
        all.find_bytes(key.as_bytes())
    }

    /// Moves past the first attribute with the key `key`, and returns its value.
    pub(crate) fn find_bytes(&mut self, key: &[u8]) -> Option<Value<'a>> {
        #[cfg(feature = "gguf")]
        if let Inner::Gguf(items) = &mut self.0 {
            return items.find(key);
        }
        let is_it = |found: &Attribute<'a>| matches!(found.key, Some(Value::Text(text)) if text.eq_bytes(key));
        self.find(is_it).map(|attribute| attribute.value)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        match &mut self.0 {
            Inner::None(_) => None,
            #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
            Inner::Cbor(items) => items.next(),
            #[cfg(any(feature = "ptd", feature = "tflite"))]
            Inner::Flatbuffers(items) => items.next(),
            #[cfg(feature = "gguf")]
            Inner::Gguf(items) => items.next(),
            #[cfg(feature = "safetensors")]
            Inner::Json(items) => items.next(),
            #[cfg(feature = "pytorch")]
            Inner::Pytorch(items) => items.next(),
            #[cfg(feature = "onnx")]
            Inner::Onnx(items) => items.next(),
            #[cfg(feature = "tflite")]
            Inner::Tflite(items) => items.next(),
        }
    }
}

impl FusedIterator for Attributes<'_> {}
