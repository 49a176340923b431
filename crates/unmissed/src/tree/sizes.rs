//! [`Sizes`]: how wide nodes are, for the builders that are free to choose.

use crate::error::{Error, Result, digits};
use crate::spec::Spec;

/// The most lanes of an inner node and the most labels of a node above labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) branch: usize,
    pub(super) leaf: usize,
}

impl Default for Sizes {
    /// Siblings are solved together in blocks of 64, so that 64 children cost little more than a few, and each level that is left out is one
    /// less to go wrong on. Wider nodes took longer and were no better on 47 000 labels, narrower ones were a little worse.
    fn default() -> Sizes {
        Sizes { branch: 64, leaf: 100 }
    }
}

impl Sizes {
    /// What follows the name in a spec string.
    pub(super) fn parse(name: &str, arguments: Option<&str>) -> Result<Sizes> {
        let spec = Spec::new(name, arguments)?;
        spec.allow(&["branch", "leaf"], &[])?;
        let usual = Sizes::default();
        Ok(Sizes { branch: whole(&spec, "branch", 2, usual.branch)?, leaf: whole(&spec, "leaf", 1, usual.leaf)? })
    }

    /// How many lanes the node of so many labels has above other nodes; none when its lanes are the labels. Levels are alike: no
    /// more of them than the branching needs, and each as wide as the others.
    pub(super) fn lanes(self, labels: usize) -> Option<usize> {
        let leaves = labels.div_ceil(self.leaf);
        if leaves <= 1 {
            return None;
        }
        let mut levels = 1;
        while self.branch.saturating_pow(levels) < leaves {
            levels += 1;
        }
        let mut lanes = 2usize;
        while lanes.saturating_pow(levels) < leaves {
            lanes += 1;
        }
        Some(lanes.min(leaves))
    }
}

/// A whole number of at least `least` in a spec.
pub(super) fn whole(spec: &Spec, key: &str, least: usize, usual: usize) -> Result<usize> {
    let Some(number) = spec.number(key)? else { return Ok(usual) };
    if number.fract() != 0.0 || number < least as f64 || number > f64::from(u32::MAX) {
        return Err(Error::value(format!("'{spec}': {key} is out of range"))
            .expected(format!("a whole number from {least} to {}", u32::MAX))
            .found(digits(number)));
    }
    Ok(number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_alike() {
        let sizes = Sizes { branch: 512, leaf: 100 };
        assert_eq!(sizes.lanes(100), None);
        assert_eq!(sizes.lanes(101), Some(2));
        assert_eq!(sizes.lanes(46_999), Some(470));
        // 6 700 leaves are too many for one level: 82 x 82.
        assert_eq!(sizes.lanes(670_000), Some(82));
        assert_eq!(sizes.lanes(670_000 / 82), Some(82));
        assert_eq!(Sizes { branch: 2, leaf: 1 }.lanes(1000), Some(2));
    }
}
