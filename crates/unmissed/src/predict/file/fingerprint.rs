//! What tells one data set from another.

use crate::data::{Features, Labels};

/// BLAKE3, in hexadecimal, of the shapes and of all entries of features and labels, in the order in which they are stored.
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
