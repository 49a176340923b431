//! Arrays with their lengths, from untrusted bytes.

use super::check::broken;
use crate::error::{Error, Result};

/// What is left to read. Nothing is allocated that the bytes do not hold.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
}

impl Reader<'_> {
    fn cut() -> Error {
        Error::format("the tally ends too early")
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(Self::cut)?;
        self.rest = rest;
        Ok(*head)
    }

    pub(super) fn list<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(&mut self) -> Result<Vec<T>> {
        let count = u64::from_le_bytes(self.take::<8>()?);
        let bytes =
            count.checked_mul(size_of::<T>() as u64).filter(|bytes| *bytes <= self.rest.len() as u64).ok_or_else(Self::cut)?;
        let (head, rest) = self.rest.split_at(bytes as usize);
        self.rest = rest;
        Ok(bytemuck::pod_collect_to_vec(head))
    }

    /// A list of rows of N numbers.
    pub(super) fn rows<const N: usize>(&mut self) -> Result<Vec<[u32; N]>> {
        let flat = self.list::<u32>()?;
        let (rows, rest) = flat.as_chunks::<N>();
        if rest.is_empty() { Ok(rows.to_vec()) } else { Err(broken("its entries")) }
    }

    pub(super) fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T> {
        serde_json::from_slice(&self.list::<u8>()?)
            .map_err(|cause| Error::format(format!("cannot read the settings of the tally ({cause})")))
    }
}
