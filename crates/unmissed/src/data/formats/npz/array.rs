//! One `.npy` array, alone or inside an archive: a header in Python's notation, then the elements.
//!
//! Written by hand because the bytes may be hostile: nothing is allocated because a header claims it, elements are decoded block by
//! block as they arrive, and claimed but missing elements are an error.

use crate::data::too_large;
use crate::error::{Error, Result, shown};
use std::io::{self, Read, Write};

/// Elements are decoded in blocks of this many bytes; a multiple of every element's size.
const BLOCK: usize = 64 << 10;
/// The longest header that numpy itself accepts from strangers.
const LONGEST_HEADER: usize = 10_000;

/// An array whose header is read and whose elements are to come.
pub(in crate::data::formats) struct Array<R> {
    name: &'static str,
    /// Kind and size as numpy writes them, without the order of bytes: `i4`, `f8`, `S3`.
    kind: String,
    big_endian: bool,
    shape: Vec<u64>,
    /// Whether columns, not rows, lie behind each other.
    by_column: bool,
    elements: R,
}

/// What the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data::formats) enum Elements {
    Bools,
    Integers,
    Floats,
}

impl<R: Read> Array<R> {
    /// Reads the header of the array called `name`.
    pub(in crate::data::formats) fn open(name: &'static str, mut bytes: R) -> Result<Self> {
        let mut start = [0; 8];
        bytes.read_exact(&mut start).map_err(|cause| unreadable(name, &cause))?;
        let [magic @ .., major, _] = start;
        if magic != *b"\x93NUMPY" {
            return Err(
                Error::format(format!("'{name}' is not an array of numpy")).found(format!("{} at its start", shown(&start)))
            );
        }
        let mut length = [0; 4];
        let width = if major == 1 { 2 } else { 4 };
        bytes.read_exact(&mut length[..width]).map_err(|cause| unreadable(name, &cause))?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST_HEADER {
            return Err(Error::format(format!("the header of the array '{name}' is too long"))
                .expected(format!("at most {LONGEST_HEADER} bytes"))
                .found(length.to_string()));
        }
        let mut header = vec![0; length];
        bytes.read_exact(&mut header).map_err(|cause| unreadable(name, &cause))?;
        let parsed = std::str::from_utf8(&header).ok().and_then(parse_header);
        let Some(Header { descr, shape, by_column }) = parsed else {
            return Err(Error::format(format!("cannot read the header of the array '{name}'"))
                .expected("a plain array, {'descr': '<i4', 'fortran_order': False, 'shape': (3,), }")
                .found(shown(&header)));
        };
        let kind = descr.trim_start_matches(['<', '>', '|', '=']).to_owned();
        Ok(Array { name, kind, big_endian: descr.starts_with('>'), shape, by_column, elements: bytes })
    }

    /// The number of elements that the header claims; arrays of two and more dimensions are errors.
    pub(in crate::data::formats) fn len(&self) -> Result<u64> {
        match self.shape[..] {
            [length] => Ok(length),
            _ => Err(Error::format(format!("the array '{}' has the wrong number of dimensions", self.name))
                .expected("1")
                .found(self.shape.len().to_string())),
        }
    }

    /// The lengths of its dimensions.
    pub(in crate::data::formats) fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// What its elements are.
    pub(in crate::data::formats) fn elements(&self) -> Result<Elements> {
        match self.kind.as_bytes() {
            [b'b', _] => Ok(Elements::Bools),
            [b'i' | b'u', _] => Ok(Elements::Integers),
            [b'f', _] => Ok(Elements::Floats),
            _ => Err(self.wrong_kind("numbers or bools")),
        }
    }

    /// All elements as whole numbers, one row after the other. The shape must have been looked at.
    pub(in crate::data::formats) fn matrix_integers(mut self) -> Result<Vec<i64>> {
        let (shape, by_column) = self.flatten();
        Ok(by_rows(self.integers()?, &shape, by_column))
    }

    /// All elements as 32-bit floating numbers, one row after the other.
    pub(in crate::data::formats) fn matrix_floats(mut self) -> Result<Vec<f32>> {
        let (shape, by_column) = self.flatten();
        Ok(by_rows(self.floats()?, &shape, by_column))
    }

    /// Makes it one dimension, and gives those that it had.
    fn flatten(&mut self) -> (Vec<u64>, bool) {
        let all = self.shape.iter().fold(1u64, |all, length| all.saturating_mul(*length));
        (std::mem::replace(&mut self.shape, vec![all]), self.by_column)
    }

    /// The elements as whole numbers that are not negative and fit into `T`.
    pub(super) fn integers<T: TryFrom<i128>>(self) -> Result<Vec<T>> {
        macro_rules! decode {
            ($number:ty) => {
                self.decode(|bytes| T::try_from(<$number>::from_le_bytes(bytes).into()).ok())
            };
        }
        match self.kind.as_str() {
            "i1" => decode!(i8),
            "i2" => decode!(i16),
            "i4" => decode!(i32),
            "i8" => decode!(i64),
            "u1" => decode!(u8),
            "u2" => decode!(u16),
            "u4" => decode!(u32),
            "u8" => decode!(u64),
            _ => Err(self.wrong_kind("whole numbers (int32, int64, ...)")),
        }
    }

    /// The elements as 32-bit floating numbers, rounded to the nearest where they have more digits.
    pub(super) fn floats(self) -> Result<Vec<f32>> {
        macro_rules! decode {
            ($number:ty) => {
                self.decode(|bytes| Some(<$number>::from_le_bytes(bytes) as f32))
            };
        }
        match self.kind.as_str() {
            "f2" => self.decode(|bytes| Some(half(u16::from_le_bytes(bytes)))),
            "f4" => decode!(f32),
            "f8" => decode!(f64),
            "b1" => self.decode(|[byte]| Some(f32::from(u8::from(byte != 0)))),
            "i1" => decode!(i8),
            "i2" => decode!(i16),
            "i4" => decode!(i32),
            "i8" => decode!(i64),
            "u1" => decode!(u8),
            "u2" => decode!(u16),
            "u4" => decode!(u32),
            "u8" => decode!(u64),
            _ => Err(self.wrong_kind("float32, float64, bool or whole numbers")),
        }
    }

    /// The text of an array that holds one short string.
    pub(super) fn text(mut self) -> Result<String> {
        if !self.shape.iter().all(|length| *length == 1) || !self.kind.starts_with(['S', 'U']) {
            return Err(self.wrong_kind("one string"));
        }
        // Strings are padded with zero bytes, and those of kind `U` take four bytes for a letter.
        let mut bytes = Vec::new();
        self.elements.by_ref().take(64).read_to_end(&mut bytes).map_err(|cause| unreadable(self.name, &cause))?;
        bytes.retain(|byte| *byte != 0);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn decode<const N: usize, T>(mut self, convert: impl Fn([u8; N]) -> Option<T>) -> Result<Vec<T>> {
        let name = self.name;
        let mut left = self.len()?;
        let mut values = Vec::new();
        let mut block = vec![0; BLOCK];
        while left > 0 {
            let count = left.min((BLOCK / N) as u64) as usize;
            let part = &mut block[..count * N];
            self.elements.read_exact(part).map_err(|cause| unreadable(name, &cause))?;
            values.try_reserve(count).map_err(|_| {
                Error::format(format!("the array '{name}' does not fit into memory")).found(format!("{left} more elements"))
            })?;
            for bytes in part.as_chunks_mut::<N>().0 {
                if self.big_endian {
                    bytes.reverse();
                }
                let Some(value) = convert(*bytes) else {
                    return Err(Error::format(format!("a number in the array '{name}' is out of range"))
                        .expected("a whole number from 0, of 32 bits for a column")
                        .found(format!("another value at position {} (counted from 0)", values.len())));
                };
                values.push(value);
            }
            left -= count as u64;
        }
        // Asking for one byte more also makes the archive compare its checksum.
        match self.elements.read(&mut block[..1]) {
            Ok(0) => Ok(values),
            Ok(_) => Err(Error::format(format!("the array '{name}' is longer than stated in its header"))
                .expected(format!("{} elements", values.len()))),
            Err(cause) => Err(unreadable(name, &cause)),
        }
    }

    fn wrong_kind(&self, expected: &str) -> Error {
        Error::format(format!("the array '{}' holds the wrong kind of elements", self.name)).expected(expected).found(format!(
            "{} of dtype {}",
            shape_text(&self.shape),
            shown(self.kind.as_bytes())
        ))
    }
}

fn shape_text(shape: &[u64]) -> String {
    if shape.is_empty() { "a single value".into() } else { format!("an array of shape {shape:?}") }
}

fn unreadable(name: &str, cause: &io::Error) -> Error {
    if let Some(error) = too_large(cause) {
        return error;
    }
    let why = if cause.kind() == io::ErrorKind::UnexpectedEof { "it ends too early".to_owned() } else { cause.to_string() };
    Error::format(format!("cannot read the array '{name}' ({why})"))
        .hint("the file is truncated or damaged: fetch or write it again")
}

/// A number of half precision.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 31), u32::from(bits & 1023));
    match exponent {
        0 => f32::from_bits(sign | 0x3f80_0000) * (fraction as f32 / (1 << 24) as f32),
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        exponent => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// The elements of a matrix one row after the other.
fn by_rows<T: Copy>(elements: Vec<T>, shape: &[u64], by_column: bool) -> Vec<T> {
    match (by_column, shape) {
        // Rows of no elements may be claimed without end.
        (true, [rows, cols]) if !elements.is_empty() => {
            let (rows, cols) = (*rows as usize, *cols as usize);
            (0..rows).flat_map(|row| (0..cols).map(move |col| col * rows + row)).map(|place| elements[place]).collect()
        }
        _ => elements,
    }
}

/// What a header says.
#[derive(Debug, PartialEq)]
struct Header<'a> {
    descr: &'a str,
    shape: Vec<u64>,
    by_column: bool,
}

fn parse_header(text: &str) -> Option<Header<'_>> {
    let after = |key: &str| text.split_once(key).map(|(_, rest)| rest.trim_start());
    let (descr, _) = after("'descr':")?.strip_prefix('\'')?.split_once('\'')?;
    let (shape, _) = after("'shape':")?.strip_prefix('(')?.split_once(')')?;
    let lengths = shape.split(',').map(|length| length.trim().trim_end_matches('L')).filter(|length| !length.is_empty());
    let by_column = after("'fortran_order':").is_some_and(|rest| rest.starts_with("True"));
    Some(Header { descr, shape: lengths.map(|length| length.parse().ok()).collect::<Option<_>>()?, by_column })
}

/// Writes the header of an array; `kind` is numpy's, as in `<i4`, and no `shape` stands for a single value.
pub(in crate::data::formats) fn write_header(output: &mut impl Write, kind: &str, shape: &[u64]) -> io::Result<()> {
    let shape = match shape {
        [length] => format!("({length},)"),
        lengths => format!("({})", lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    };
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    // Spaces and a line end up to a multiple of 64 bytes, so that the elements of a mapped file are aligned.
    let start = b"\x93NUMPY\x01\x00";
    let length = (start.len() + 2 + header.len() + 1).next_multiple_of(64) - start.len() - 2;
    output.write_all(start)?;
    output.write_all(&u16::try_from(length).map_err(io::Error::other)?.to_le_bytes())?;
    writeln!(output, "{header:width$}", width = length - 1)
}

/// Writes an array of one dimension, element by element in little-endian order.
pub(super) fn write_array<const N: usize>(
    output: &mut impl Write,
    kind: &str,
    elements: impl ExactSizeIterator<Item = [u8; N]>,
) -> io::Result<()> {
    write_header(output, kind, &[elements.len() as u64])?;
    let mut block = Vec::with_capacity(BLOCK);
    for element in elements {
        block.extend_from_slice(&element);
        if block.len() >= BLOCK {
            output.write_all(&block)?;
            block.clear();
        }
    }
    output.write_all(&block)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(kind: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(elements);
        bytes
    }

    fn ids(bytes: &[u8]) -> Result<Vec<u32>> {
        Array::open("a", bytes)?.integers()
    }

    #[test]
    fn every_kind_of_number_in_either_order_of_bytes() {
        assert_eq!(ids(&array("<i8", "(1,)", &7i64.to_le_bytes())).unwrap(), [7]);
        assert_eq!(ids(&array(">i4", "(1,)", &7i32.to_be_bytes())).unwrap(), [7]);
        assert_eq!(ids(&array("|u1", "(2L,)", &[1, 255])).unwrap(), [1, 255]);
        let floats = |bytes: &[u8]| Array::open("a", bytes).unwrap().floats().unwrap();
        assert_eq!(floats(&array("<f8", "(1,)", &0.1f64.to_le_bytes())), [0.1f32]);
        assert_eq!(floats(&array(">f4", "(1,)", &0.5f32.to_be_bytes())), [0.5]);
        assert_eq!(floats(&array("|b1", "(2,)", &[0, 1])), [0.0, 1.0]);
        assert_eq!(floats(&array("<i2", "(1,)", &(-3i16).to_le_bytes())), [-3.0]);
        let halves = [0u16, 0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff].map(u16::to_le_bytes).concat();
        assert_eq!(floats(&array("<f2", "(6,)", &halves)), [0.0, 1.0, -2.0, 0.333_251_95, 5.960_464_5e-8, 65504.0]);
        let text = |bytes: &[u8]| Array::open("a", bytes).unwrap().text().unwrap();
        assert_eq!(text(&array("|S3", "()", b"csr")), "csr");
        assert_eq!(text(&array("<U3", "()", b"c\0\0\0s\0\0\0r\0\0\0")), "csr");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (bytes, part) in [
            (b"PK".to_vec(), "ends too early"),
            (b"not an array".to_vec(), "not an array of numpy"),
            (array("<i4", "(1,)", &[]), "ends too early"),
            (array("<i4", "(18446744073709551615,)", &[0; 8]), "ends too early"),
            (array("<i4", "(18446744073709551616,)", &[0; 8]), "cannot read the header"),
            (array("<i4", "(1,)", &[0; 5]), "longer than stated in its header"),
            (array("<i4", "(1, 1)", &[0; 4]), "number of dimensions"),
            (array("<i4", "(1,)", &[255; 4]), "out of range"),
            (array("<f4", "(1,)", &[0; 4]), "expected whole numbers"),
            (array("|O", "(1,)", &[0; 4]), "expected whole numbers"),
        ] {
            let message = ids(&bytes).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_header_that_claims_gigabytes_costs_nothing() {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend(u32::MAX.to_le_bytes());
        assert!(ids(&bytes).unwrap_err().to_string().contains("too long"));
    }

    /// What `numpy.save` writes for `numpy.arange(3, dtype="<i4")`, and the start for a single string.
    #[test]
    fn written_headers_are_numpys() {
        let mut bytes = Vec::new();
        write_array(&mut bytes, "<i4", (0..3i32).map(i32::to_le_bytes)).unwrap();
        let mut expected = b"\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }".to_vec();
        expected.resize(127, b' ');
        expected.extend(b"\n\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00");
        assert_eq!(bytes.escape_ascii().to_string(), expected.escape_ascii().to_string());
        for (shape, text) in [(&[][..], "()"), (&[2, 3], "(2, 3)")] {
            let mut bytes = Vec::new();
            write_header(&mut bytes, "|S3", shape).unwrap();
            assert!(bytes.len() % 64 == 0 && bytes.ends_with(b" \n"));
            let parsed = std::str::from_utf8(&bytes[10..]).ok().and_then(parse_header);
            assert_eq!(parsed, Some(Header { descr: "|S3", shape: shape.to_vec(), by_column: false }), "{text}");
        }
    }

    #[test]
    fn written_arrays_are_read() {
        let mut bytes = Vec::new();
        write_array(&mut bytes, "<i4", (0..40_000i32).map(i32::to_le_bytes)).unwrap();
        assert!(ids(&bytes).unwrap().into_iter().eq(0..40_000));
    }
}
