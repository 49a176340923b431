//! Arrays of a model: in memory, or where a file is mapped.

use crate::data::Bytes;
use crate::error::Result;
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Numbers that are owned, or lie in a mapped file.
#[derive(Clone)]
pub(crate) enum Array<T: Pod> {
    /// In memory, shared by copies.
    Owned(Arc<Vec<T>>),
    /// In the bytes of a file; the range was checked to be made of whole numbers at their places.
    Mapped(Arc<Bytes>, Range<usize>, PhantomData<T>),
}

impl<T: Pod> Array<T> {
    /// The numbers in a range of a file's bytes, copied only where they do not lie as in memory.
    pub(crate) fn of(bytes: &Arc<Bytes>, range: Range<usize>) -> Result<Array<T>> {
        let part = &bytes.as_ref().as_ref()[range.clone()];
        Ok(match bytemuck::try_cast_slice::<u8, T>(part) {
            Ok(_) => Array::Mapped(bytes.clone(), range, PhantomData),
            Err(_) => Array::from(bytemuck::pod_collect_to_vec::<u8, T>(part)),
        })
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Array::Owned(numbers) => numbers,
            Array::Mapped(bytes, range, _) => bytemuck::cast_slice(&bytes.as_ref().as_ref()[range.clone()]),
        }
    }
}

impl<T: Pod> From<Vec<T>> for Array<T> {
    fn from(numbers: Vec<T>) -> Array<T> {
        Array::Owned(Arc::new(numbers))
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Pod + PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Array<T>) -> bool {
        **self == **other
    }
}
