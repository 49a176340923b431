//! The limit on the number of labels that may have a number each in memory.

use crate::error::{Error, Result};

/// Most labels that arrays with an element for each are made for: 2^28.
const MOST: u64 = 1 << 28;

/// Refuses arrays with an element for each label when there are too many labels; asked before they are allocated, since
/// the number often comes from a header that anybody can write.
pub(crate) fn check_label_limit(labels: u64) -> Result<()> {
    if labels <= MOST {
        return Ok(());
    }
    Err(Error::value("too many labels to hold a number for each")
        .expected(format!("at most {MOST} labels"))
        .found(labels.to_string())
        .hint("is the number in the header right? Labels with large ids can be renumbered"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn millions_of_labels_are_fine_and_what_a_hostile_header_declares_is_not() {
        assert!(check_label_limit(1_000_000).is_ok());
        assert!(check_label_limit(u64::from(u32::MAX)).is_err());
    }
}
