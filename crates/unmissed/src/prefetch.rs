//! Asking for memory before it is needed.
//!
//! Training on many features waits for memory: the weights and moments of a block of labels do not fit the nearer caches, and the
//! features of a batch skip over them in steps that the processor does not foresee. Evaluation reads the scores of a row one after the
//! other, but the labels of the best few only; its intervals look up the counts of labels all over the memory. Asking for what comes
//! next hides most of the wait. There is no safe way to say so; this is the one line that is not, and it cannot fault: a prefetch of
//! any address is allowed, and this one belongs to a reference.

/// Lets the processor fetch what lies at the reference, all of it.
#[inline(always)]
#[allow(unsafe_code, reason = "a prefetch reads nothing; see the page of this module")]
pub(crate) fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast::<i8>().wrapping_add(line)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
