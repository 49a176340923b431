//! Pairs of ids from a file of two columns.

use crate::data::Source;
use crate::error::{Error, Result, shown};
use std::path::Path;

/// What the two columns of a file are, and how many of each there are.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// What the ids are called in messages: ("child", "parent").
    pub names: (&'static str, &'static str),
    /// Both ids must lie below these.
    pub bounds: (u64, u64),
}

/// Reads `left<TAB>right` lines, ids 0-based; empty lines and lines that start with `#` are skipped.
pub fn read_pairs(path: impl AsRef<Path>, columns: Columns) -> Result<Vec<(u32, u32)>> {
    let path = path.as_ref();
    let bytes = Source::open(path, true)?.into_bytes()?;
    let mut pairs = Vec::new();
    for (place, line) in bytes.as_ref().split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let pair = parse(line, columns).map_err(|error| error.at(place as u64 + 1).in_file(path))?;
        pairs.push(pair);
    }
    Ok(pairs)
}

fn parse(line: &[u8], columns: Columns) -> Result<(u32, u32)> {
    let (left, right) = columns.names;
    let broken =
        || Error::format("cannot read a pair of ids").expected(format!("'{left}<TAB>{right}', counted from 0")).found(shown(line));
    let text = std::str::from_utf8(line).map_err(|_| broken())?;
    let (a, b) = text.split_once('\t').ok_or_else(broken)?;
    let id = |text: &str, name: &str, bound: u64| {
        let id: u32 = text.trim().parse().map_err(|_| broken())?;
        if u64::from(id) < bound {
            return Ok(id);
        }
        Err(Error::format(format!("{name} id out of range")).expected(format!("an id below {bound}")).found(id.to_string()))
    };
    Ok((id(a, left, columns.bounds.0)?, id(b, right, columns.bounds.1)?))
}

/// Lists by left id: row `i` of the result holds the right ids of `i`, ascending and once each.
pub(super) fn by_left(count: usize, mut pairs: Vec<(u32, u32)>) -> (Vec<usize>, Vec<u32>) {
    pairs.sort_unstable();
    pairs.dedup();
    let mut offsets = vec![0; count + 1];
    for (left, _) in &pairs {
        offsets[*left as usize + 1] += 1;
    }
    for place in 0..count {
        offsets[place + 1] += offsets[place];
    }
    (offsets, pairs.into_iter().map(|(_, right)| right).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_lines_are_located() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.tsv");
        let columns = Columns { names: ("child", "parent"), bounds: (5, 5) };
        for (text, part) in [("0\t1\n3 4\n", ":2: cannot read a pair"), ("0\t7\n", ":1: parent id out of range"), ("x\t1", ":1:")] {
            std::fs::write(&path, text).unwrap();
            let message = read_pairs(&path, columns).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
        std::fs::write(&path, "# child parent\r\n\n0\t1\r\n").unwrap();
        assert_eq!(read_pairs(&path, columns).unwrap(), [(0, 1)]);
    }
}
