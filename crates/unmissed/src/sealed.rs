//! Seals the traits of registries.
//!
//! Registries are static lists, so an entry from elsewhere could not be in one; and their traits are still growing. A trait that
//! has [`Sealed`] above it can be called by anybody, but only this crate can name what an implementation needs.
//! [`Named`](crate::spec::Named) is open: it is a name and a line of text.

/// Implemented by every entry of a registry.
pub trait Sealed {}
