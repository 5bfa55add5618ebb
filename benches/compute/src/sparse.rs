//! Sparse tensors in zTensor files, made dense.
//!
//! The hand-written code makes the same checks as `read_into` before it writes anything: row pointers begin at 0, do
//! not decrease and end at the number of values, and every index is inside the shape.

use crate::compare;
use crate::random::Random;

const ROWS: usize = 2048;

pub fn compare_all(filter: &str) {
    // 10 % of 4096 columns, and rows of a few values.
    for (columns, of) in [(4096, 10), (64, 32)] {
        let rows = ROWS * 4096 / columns;
        let matrix = Matrix::random(rows, columns, of);
        let run = |name: &str, make: &dyn Fn() -> Vec<u8>, by_hand: &dyn Fn(&mut [u8])| {
            let name = format!("{name} {rows} x {columns}");
            if name.contains(filter) {
                compare(&name, &make(), by_hand);
            }
        };
        let coo = |dst: &mut [u8]| matrix.scatter_coo(dst);
        let csr = |dst: &mut [u8]| matrix.scatter_csr(dst);
        run("csr u64", &|| matrix.csr("u64", |n| n.to_le_bytes().to_vec()), &csr);
        run("csr i32", &|| matrix.csr("i32", |n| (n as i32).to_le_bytes().to_vec()), &csr);
        run("coo u64", &|| matrix.coo("u64", |n| n.to_le_bytes().to_vec()), &coo);
        run("coo i32", &|| matrix.coo("i32", |n| (n as i32).to_le_bytes().to_vec()), &coo);
    }
}

struct Matrix {
    rows: usize,
    columns: usize,
    pointers: Vec<u64>,
    /// The row of each value.
    row: Vec<u64>,
    column: Vec<u64>,
    values: Vec<f32>,
}

impl Matrix {
    /// One of `of` elements is not zero.
    fn random(rows: usize, columns: usize, of: u64) -> Self {
        let mut random = Random(1);
        let mut matrix = Self { rows, columns, pointers: vec![0], row: vec![], column: vec![], values: vec![] };
        for row in 0..rows {
            for column in 0..columns {
                if random.next() % of == 0 {
                    matrix.row.push(row as u64);
                    matrix.column.push(column as u64);
                }
            }
            matrix.pointers.push(matrix.column.len() as u64);
        }
        matrix.values = matrix.row.iter().map(|_| random.number() as f32).collect();
        matrix
    }

    fn scatter_csr(&self, dst: &mut [u8]) {
        let count = self.values.len() as u64;
        assert!(self.pointers.len() == self.rows + 1 && self.pointers[0] == 0 && self.pointers[self.rows] == count);
        assert!(self.pointers.windows(2).all(|pair| pair[0] <= pair[1]), "pointers decrease");
        assert!(self.column.iter().all(|column| *column < self.columns as u64), "a column out of range");
        dst.fill(0);
        for (row, dst) in dst.chunks_exact_mut(self.columns * 4).enumerate() {
            let range = self.pointers[row] as usize..self.pointers[row + 1] as usize;
            for (column, value) in self.column[range.clone()].iter().zip(&self.values[range]) {
                let at = *column as usize * 4;
                dst[at..at + 4].copy_from_slice(&value.to_ne_bytes());
            }
        }
    }

    fn scatter_coo(&self, dst: &mut [u8]) {
        assert!(self.row.iter().all(|row| *row < self.rows as u64), "a row out of range");
        assert!(self.column.iter().all(|column| *column < self.columns as u64), "a column out of range");
        dst.fill(0);
        for ((row, column), value) in self.row.iter().zip(&self.column).zip(&self.values) {
            let at = (*row as usize * self.columns + *column as usize) * 4;
            dst[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
    }

    fn csr(&self, dtype: &str, index: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
        let bytes = |numbers: &[u64]| numbers.iter().flat_map(|n| index(*n)).collect::<Vec<u8>>();
        let parts = [("indices", dtype, bytes(&self.column)), ("indptr", dtype, bytes(&self.pointers))];
        self.file("sparse_csr", &parts)
    }

    fn coo(&self, dtype: &str, index: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
        let coordinates = self.row.iter().chain(&self.column).flat_map(|n| index(*n)).collect();
        self.file("sparse_coo", &[("coords", dtype, coordinates)])
    }

    /// A zTensor 1.2 file with these components and the values.
    fn file(&self, layout: &str, parts: &[(&str, &str, Vec<u8>)]) -> Vec<u8> {
        let mut file = b"ZTEN1000".to_vec();
        let mut components = Vec::new();
        let values = self.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        for (role, dtype, bytes) in parts.iter().chain([&("values", "f32", values)]) {
            file.resize(file.len().next_multiple_of(64), 0);
            text(&mut components, role);
            head(&mut components, 5, 3);
            text(&mut components, "dtype");
            text(&mut components, dtype);
            text(&mut components, "offset");
            head(&mut components, 0, file.len() as u64);
            text(&mut components, "length");
            head(&mut components, 0, bytes.len() as u64);
            file.extend(bytes);
        }
        let mut manifest = Vec::new();
        head(&mut manifest, 5, 2);
        text(&mut manifest, "version");
        text(&mut manifest, "1.2.0");
        text(&mut manifest, "objects");
        head(&mut manifest, 5, 1);
        text(&mut manifest, "m");
        head(&mut manifest, 5, 3);
        text(&mut manifest, "shape");
        head(&mut manifest, 4, 2);
        head(&mut manifest, 0, self.rows as u64);
        head(&mut manifest, 0, self.columns as u64);
        text(&mut manifest, "format");
        text(&mut manifest, layout);
        text(&mut manifest, "components");
        head(&mut manifest, 5, parts.len() as u64 + 1);
        manifest.extend(components);
        file.extend(&manifest);
        file.extend((manifest.len() as u64).to_le_bytes());
        file.extend(b"ZTEN1000");
        file
    }
}

/// The head of a CBOR item.
fn head(cbor: &mut Vec<u8>, major: u8, n: u64) {
    if n < 24 {
        cbor.push(major << 5 | n as u8);
    } else if n < 0x1_0000 {
        cbor.push(major << 5 | 25);
        cbor.extend((n as u16).to_be_bytes());
    } else {
        cbor.push(major << 5 | 27);
        cbor.extend(n.to_be_bytes());
    }
}

fn text(cbor: &mut Vec<u8>, text: &str) {
    head(cbor, 3, text.len() as u64);
    cbor.extend(text.as_bytes());
}
