//! Ratings: who gave which item which number, with the names of users and items.
//!
//! Two kinds of text hold them. A list has a line `user,item,rating` for each; a dense matrix has a line for each user with a
//! number for each item, 0 for no rating. Names become ids in a fixed order: by number when all of them are whole
//! numbers, else by their letters, so that the same names give the same ids in whatever order the lines come.

use super::csr::{Csr, checked_cols};
use super::formats::ReadOptions;
use super::source::Source;
use crate::error::{Error, Result, shown};
use std::collections::HashMap;
use std::path::Path;

/// Ratings of items (columns) by users (rows), with their names.
///
/// ```
/// use unmissed::data::Ratings;
/// let ratings = Ratings::from_lines(b"user,item,rating\n10,b,4\n9,a,2.5\n10,a,1\n")?;
/// assert_eq!(ratings.users, ["9", "10"]);
/// assert_eq!(ratings.items, ["a", "b"]);
/// assert_eq!(ratings.ratings.row(1), (&[0, 1][..], &[1.0, 4.0][..]));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ratings {
    /// The user of each row.
    pub users: Vec<String>,
    /// The item of each column.
    pub items: Vec<String>,
    /// The ratings; ids ascend in every row.
    pub ratings: Csr<'static, f32>,
}

impl Ratings {
    /// Reads a file, in the format `ratings` (the default) or `matrix`.
    pub fn read(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Ratings> {
        let path = path.as_ref();
        let name = options.format.as_ref().map_or("ratings", |spec| spec.name());
        let read = match name {
            "ratings" => Ratings::from_lines,
            "matrix" => Ratings::from_matrix,
            other => return Err(Error::value(format!("'{other}' holds no names")).expected("ratings or matrix").in_file(path)),
        };
        options.format.iter().try_for_each(|spec| spec.allow(&[], &[]))?;
        Self::of_source(Source::open(path, options.mmap)?, options, read)
    }

    pub(crate) fn of_source(source: Source, options: &ReadOptions<'_>, read: fn(&[u8]) -> Result<Ratings>) -> Result<Ratings> {
        let path = source.path().to_path_buf();
        options.progress.begin(&format!("reading {}", path.display()), source.size().unwrap_or(0));
        let bytes = source.into_bytes()?;
        let ratings = read(bytes.as_ref()).map_err(|error| error.in_file(&path))?;
        options.progress.advance(bytes.as_ref().len() as u64)?;
        Ok(ratings)
    }

    /// Reads lines `user,item,rating`. Fields are separated by `::`, tabs, commas, semicolons or spaces, whichever the first
    /// line has (in this order); quotes around a field are left out; columns after the third (times) are ignored; the first
    /// line is a header when its third field is not a number.
    pub fn from_lines(text: &[u8]) -> Result<Ratings> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut lines =
            (1u64..).zip(text.split(|byte| *byte == b'\n')).map(|(number, line)| (number, line.trim_ascii())).peekable();
        while lines.next_if(|(_, line)| line.is_empty()).is_some() {}
        let Some(&(_, first)) = lines.peek() else {
            return Err(Error::format("the file is empty").expected("lines 'user,item,rating'"));
        };
        let separator = Separator::of(first);
        if matches!(fields(first, separator), Ok([_, _, rating]) if lexical_core::parse::<f32>(rating).is_err()) {
            lines.next();
        }
        let mut collected = Collected::default();
        for (line, text) in lines.filter(|(_, text)| !text.is_empty()) {
            let [user, item, rating] = fields(text, separator).map_err(|error| error.at(line))?;
            let rating = number(rating).map_err(|error| error.at(line))?;
            collected.add(user, item, rating, line).map_err(|error| error.at(line))?;
        }
        if collected.entries.is_empty() {
            return Err(Error::format("no ratings after the header").expected("lines 'user,item,rating'").at(1));
        }
        collected.into_ratings(|user, item, line, first| twice(user, item, format!("another in line {first}")).at(line))
    }

    /// Takes `(user, item, rating)` from memory; names are ordered as those of a file.
    ///
    /// ```
    /// use unmissed::data::Ratings;
    /// let ratings = Ratings::from_entries([("10", "b", 4.0), ("9", "a", 2.5)])?;
    /// assert_eq!((ratings.users, ratings.ratings.row_ids(0)), (vec!["9".to_owned(), "10".to_owned()], &[0][..]));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str, f32)>) -> Result<Ratings> {
        let mut collected = Collected::default();
        for (place, (user, item, rating)) in (0u64..).zip(entries) {
            if !rating.is_finite() {
                return Err(Error::value(format!("rating {place} (counted from 0) is not finite")).found(rating.to_string()));
            }
            collected.add(user.as_bytes(), item.as_bytes(), rating, place)?;
        }
        if collected.entries.is_empty() {
            return Err(Error::value("there are no ratings").expected("at least one (user, item, rating)"));
        }
        collected
            .into_ratings(|user, item, place, first| twice(user, item, format!("ratings {first} and {place} (counted from 0)")))
    }

    /// Reads a dense matrix: numbers separated by spaces or tabs, a line for each user, 0 where there is no rating.
    /// Users and items are called by their places, from 0.
    pub fn from_matrix(text: &[u8]) -> Result<Ratings> {
        let text = text.trim_ascii_end();
        if text.is_empty() {
            return Err(Error::format("the file is empty").expected("lines of numbers, 0 where there is no rating"));
        }
        let (mut offsets, mut ids, mut ratings) = (vec![0], Vec::new(), Vec::new());
        let mut items = 0;
        for (line, text) in (1u64..).zip(text.split(|byte| *byte == b'\n')) {
            let mut columns = 0u64;
            for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
                let rating = number(word).map_err(|error| error.at(line))?;
                if rating != 0.0 {
                    ids.push(checked_cols(columns).map_err(|error| error.at(line))?);
                    ratings.push(rating);
                }
                columns += 1;
            }
            if line == 1 {
                items = columns;
            } else if columns != items {
                return Err(Error::format("the lines of the matrix have different lengths")
                    .expected(format!("{items} numbers, as in the first line"))
                    .found(columns.to_string())
                    .at(line));
            }
            offsets.push(ids.len() as u64);
        }
        let names = |count: u64| (0..count).map(|id| id.to_string()).collect();
        Ok(Ratings {
            users: names(offsets.len() as u64 - 1),
            items: names(items),
            ratings: Csr::from_arrays(items, offsets, ids, ratings)?,
        })
    }

    /// Gives two sets of ratings the same ids: users and items of either are in both, in the order of all names.
    ///
    /// ```
    /// use unmissed::data::Ratings;
    /// let (a, b) = (Ratings::from_lines(b"1,7,5\n")?, Ratings::from_lines(b"0,8,3\n")?);
    /// let (a, b) = a.aligned(&b)?;
    /// assert_eq!((&a.users, &a.items), (&b.users, &b.items));
    /// assert_eq!(a.users, ["0", "1"]);
    /// assert_eq!((a.ratings.row_ids(1), b.ratings.row_ids(0)), (&[0][..], &[1][..]));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn aligned(&self, other: &Ratings) -> Result<(Ratings, Ratings)> {
        let merge = |a: &[String], b: &[String]| -> Result<(Vec<String>, Vec<u32>)> {
            let mut names = Names::default();
            a.iter().chain(b).try_for_each(|name| names.id(name.as_bytes()).map(|_| ()))?;
            Ok(names.into_order())
        };
        let (users, _) = merge(&self.users, &other.users)?;
        let (items, _) = merge(&self.items, &other.items)?;
        let ids = |names: &[String]| -> HashMap<String, u32> { names.iter().cloned().zip(0..).collect() };
        let (rows, columns) = (ids(&users), ids(&items));
        let renamed = |old: &Ratings| -> Result<Ratings> {
            let mut entries = Vec::with_capacity(old.ratings.nnz());
            for (user, (ids, ratings)) in old.users.iter().zip(old.ratings.iter()) {
                for (id, rating) in ids.iter().zip(ratings) {
                    let (row, column) = (rows[user], columns[&old.items[*id as usize]]);
                    entries.push(Entry { row, column, rating: *rating, line: 0 });
                }
            }
            let ratings = matrix(users.len(), checked_cols(items.len() as u64)?, entries)
                .map_err(|(entry, _)| Error::value(format!("user '{}' occurs twice", users[entry.row as usize])))?;
            Ok(Ratings { users: users.clone(), items: items.clone(), ratings })
        };
        Ok((renamed(self)?, renamed(other)?))
    }
}

#[derive(Clone, Copy)]
enum Separator {
    Colons,
    Byte(u8),
    Spaces,
}

impl Separator {
    fn of(line: &[u8]) -> Separator {
        if memchr::memmem::find(line, b"::").is_some() {
            return Separator::Colons;
        }
        b"\t,;".iter().copied().find(|byte| line.contains(byte)).map_or(Separator::Spaces, Separator::Byte)
    }
}

/// The first three fields of a line.
fn fields(line: &[u8], separator: Separator) -> Result<[&[u8]; 3]> {
    let mut rest = Some(line);
    let mut next = || -> Option<&[u8]> {
        let text = rest?.trim_ascii_start();
        let (at, length) = match separator {
            Separator::Colons => (memchr::memmem::find(text, b"::"), 2),
            Separator::Byte(byte) => (memchr::memchr(byte, text), 1),
            Separator::Spaces => (text.iter().position(u8::is_ascii_whitespace), 1),
        };
        rest = at.map(|at| &text[at + length..]);
        let field = at.map_or(text, |at| &text[..at]).trim_ascii();
        let field = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field);
        (!field.is_empty()).then_some(field)
    };
    match (next(), next(), next()) {
        (Some(user), Some(item), Some(rating)) => Ok([user, item, rating]),
        _ => Err(Error::format("a line without a rating").expected("'user,item,rating'").found(shown(line))),
    }
}

fn number(text: &[u8]) -> Result<f32> {
    match lexical_core::parse::<f32>(text) {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(Error::format("cannot read a rating").expected("a finite number").found(shown(text))),
    }
}

fn twice(user: &str, item: &str, found: String) -> Error {
    let name = |name: &str| shown(name.as_bytes());
    Error::format(format!("item {} is rated twice by user {}", name(item), name(user)))
        .expected("one rating for each user and item")
        .found(found)
}

/// Ratings with the names that they came with, in the order in which they came.
#[derive(Default)]
struct Collected {
    users: Names,
    items: Names,
    entries: Vec<Entry>,
}

impl Collected {
    fn add(&mut self, user: &[u8], item: &[u8], rating: f32, line: u64) -> Result<()> {
        let (row, column) = (self.users.id(user)?, self.items.id(item)?);
        self.entries.push(Entry { row, column, rating, line });
        Ok(())
    }

    /// The matrix; `clash` is the error for a pair that is rated twice, given its names and both lines.
    fn into_ratings(mut self, clash: impl Fn(&str, &str, u64, u64) -> Error) -> Result<Ratings> {
        let ((users, rows), (items, columns)) = (self.users.into_order(), self.items.into_order());
        for entry in &mut self.entries {
            (entry.row, entry.column) = (rows[entry.row as usize], columns[entry.column as usize]);
        }
        let ratings = matrix(users.len(), checked_cols(items.len() as u64)?, self.entries)
            .map_err(|(entry, first)| clash(&users[entry.row as usize], &items[entry.column as usize], entry.line, first))?;
        Ok(Ratings { users, items, ratings })
    }
}

/// One rating, and the line (or place) that it came from.
struct Entry {
    row: u32,
    column: u32,
    rating: f32,
    line: u64,
}

/// The matrix of these entries; two at one place are an error: the one that comes later in the file, and the line of the other.
fn matrix(rows: usize, cols: u32, mut entries: Vec<Entry>) -> std::result::Result<Csr<'static, f32>, (Entry, u64)> {
    entries.sort_by_key(|entry| (entry.row, entry.column));
    let clash = entries.windows(2).enumerate().filter(|(_, pair)| (pair[0].row, pair[0].column) == (pair[1].row, pair[1].column));
    if let Some(place) = clash.min_by_key(|(_, pair)| pair[1].line).map(|(place, _)| place) {
        let first = entries[place].line;
        return Err((entries.swap_remove(place + 1), first));
    }
    let mut offsets = vec![0u64; rows + 1];
    for entry in &entries {
        offsets[entry.row as usize + 1] += 1;
    }
    for row in 0..rows {
        offsets[row + 1] += offsets[row];
    }
    let (ids, ratings) = entries.iter().map(|entry| (entry.column, entry.rating)).unzip();
    Ok(Csr::from_checked(cols, true, offsets, ids, ratings))
}

/// Names in the order in which they came.
#[derive(Default)]
struct Names {
    ids: HashMap<String, u32>,
}

impl Names {
    fn id(&mut self, name: &[u8]) -> Result<u32> {
        let name =
            std::str::from_utf8(name).map_err(|_| Error::format("a name is not text").expected("UTF-8").found(shown(name)))?;
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        let id = checked_cols(self.ids.len() as u64)?;
        // The number of names, one more than the last id, must fit as well.
        checked_cols(u64::from(id) + 1)?;
        self.ids.insert(name.to_owned(), id);
        Ok(id)
    }

    /// The names in their fixed order, and the new id of each old one.
    fn into_order(self) -> (Vec<String>, Vec<u32>) {
        let mut names: Vec<(String, u32)> = self.ids.into_iter().collect();
        if names.iter().all(|(name, _)| name.bytes().all(|byte| byte.is_ascii_digit())) {
            // Without leading zeros, the longer number is the larger one; no length is too long this way.
            names.sort_by(|(a, _), (b, _)| {
                let (x, y) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
                x.len().cmp(&y.len()).then_with(|| x.cmp(y)).then_with(|| a.cmp(b))
            });
        } else {
            names.sort();
        }
        let mut ids = vec![0; names.len()];
        for (new, (_, old)) in (0u32..).zip(&names) {
            ids[*old as usize] = new;
        }
        (names.into_iter().map(|(name, _)| name).collect(), ids)
    }
}

#[cfg(test)]
mod tests;
