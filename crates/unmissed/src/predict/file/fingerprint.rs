//! What tells one data set from another.

use crate::data::{Features, Labels};

/// BLAKE3, in hexadecimal, of the shapes and of all entries of features and labels, in the order in which they are stored.
///
/// What is hashed is a list of parts, each after its length in bytes as a little-endian u64; numbers are little-endian. Sparse features:
/// the text `sparse`, the number of columns (u64), offsets (u64), ids (u32) and values (f32). Dense features: the text `dense`, the
/// number of columns (u64), and the values of each row (f32) as a part of its own. Then the number of labels (u64), and offsets (u64) and
/// ids (u32) of the labels.
///
/// ```
/// use unmissed::data::{Dense, Features, Labels};
/// use unmissed::predict::file::fingerprint;
/// let features = Features::Dense(Dense::new(2, 1, vec![1.0, 2.0])?);
/// let mark = |id: u32| Ok::<_, unmissed::Error>(fingerprint(&features, &Labels::from_ids(3, [vec![0], vec![id]])?));
/// assert_eq!(mark(1)?, mark(1)?);
/// assert_ne!(mark(1)?, mark(2)?);
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn fingerprint(features: &Features<'_>, labels: &Labels<'_>) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    match features {
        Features::Sparse(matrix) => {
            part(b"sparse");
            part(&(matrix.cols() as u64).to_le_bytes());
            part(bytemuck::cast_slice(matrix.offsets()));
            part(bytemuck::cast_slice(matrix.ids()));
            part(bytemuck::cast_slice(matrix.values()));
        }
        Features::Dense(matrix) => {
            part(b"dense");
            part(&(matrix.cols() as u64).to_le_bytes());
            (0..matrix.rows()).for_each(|row| part(bytemuck::cast_slice(matrix.row(row))));
        }
    }
    part(&(labels.cols() as u64).to_le_bytes());
    part(bytemuck::cast_slice(labels.offsets()));
    part(bytemuck::cast_slice(labels.ids()));
    hasher.finalize().to_hex().to_string()
}
