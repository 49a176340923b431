//! One error for the whole library: what went wrong, where, what was expected, what was found, and what to do.
//!
//! An error reads `path:line: what: expected E, found F; hint`, each part present only when it is known. The layer that
//! knows a part adds it ([`Error::at`], [`Error::in_file`], ...), so that nothing is repeated.
//!
//! An underlying error (what the operating system answered) is the [`source`](std::error::Error::source), and so it is not part of
//! `{error}`: whatever prints the chain of causes shows it once. Where one line is wanted, `{error:#}` is all of it.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of everything in this library that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Which family an error belongs to; bindings map it to their own exception types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused: a missing file, no permission, a full disk.
    Io,
    /// A file's content is not what its format promises.
    Format,
    /// An argument, or values in memory, outside what the function accepts.
    Value,
    /// The run was stopped from outside (Ctrl-C).
    Interrupted,
}

/// What went wrong, where, and what to do about it.
///
/// ```
/// use unmissed::error::Error;
/// let error = Error::format("label id out of range")
///     .expected("an id below 159")
///     .found("200")
///     .in_file("train.txt")
///     .at(3);
/// assert_eq!(
///     error.to_string(),
///     "train.txt:3: label id out of range: expected an id below 159, found 200"
/// );
/// ```
#[derive(Debug)]
pub struct Error(Box<Parts>);

#[derive(Debug)]
struct Parts {
    kind: ErrorKind,
    what: String,
    path: Option<PathBuf>,
    line: Option<u64>,
    expected: Option<String>,
    found: Option<String>,
    hint: Option<String>,
    source: Option<Cause>,
}

/// An error of another library, or of the operating system.
type Cause = Box<dyn std::error::Error + Send + Sync>;

impl Error {
    fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Error(Box::new(Parts {
            kind,
            what: what.into(),
            path: None,
            line: None,
            expected: None,
            found: None,
            hint: None,
            source: None,
        }))
    }

    /// A file whose content breaks its format.
    pub fn format(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Format, what)
    }

    /// An argument or value that the function does not accept.
    pub fn value(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, what)
    }

    /// The run was stopped from outside.
    pub fn interrupted() -> Self {
        Self::new(ErrorKind::Interrupted, "interrupted")
    }

    /// An operating-system error while doing `what` with the file at `path`.
    pub fn io(what: impl Into<String>, path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, what).in_file(path).caused_by(source)
    }

    /// Adds the error behind this one, which becomes its source.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(cause.into());
        self
    }

    /// Adds the file, unless one is known already.
    #[must_use]
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        self.0.path.get_or_insert_with(|| path.as_ref().to_path_buf());
        self
    }

    /// Adds the line (1-based, the header included), unless one is known already.
    #[must_use]
    pub fn at(mut self, line: u64) -> Self {
        self.0.line.get_or_insert(line);
        self
    }

    /// Says what would have been right.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.0.expected = Some(expected.into());
        self
    }

    /// Says what was there instead.
    #[must_use]
    pub fn found(mut self, found: impl Into<String>) -> Self {
        self.0.found = Some(found.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The family of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What the operating system said, when it was asked.
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        self.0.source.as_ref()?.downcast_ref().map(std::io::Error::kind)
    }

    /// The file, when one is to blame.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The 1-based line in that file, when one is to blame.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }
}

/// `{}` leaves the source out, `{:#}` has it on the same line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        let with_source = f.alternate();
        let f = &mut Escaped(f);
        let Parts { what, path, line, expected, found, hint, source, .. } = &*self.0;
        match (path, line) {
            (Some(path), Some(line)) => write!(f, "{}:{line}: ", path.display())?,
            (Some(path), None) => write!(f, "{}: ", path.display())?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        f.write_str(what)?;
        match (expected, found) {
            (Some(expected), Some(found)) => write!(f, ": expected {expected}, found {found}")?,
            (Some(expected), None) => write!(f, ": expected {expected}")?,
            (None, Some(found)) => write!(f, ": found {found}")?,
            (None, None) => {}
        }
        if with_source && let Some(source) = source {
            write!(f, ": {source:#}")?;
        }
        if let Some(hint) = hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|cause| &**cause as _)
    }
}

/// Writes control characters as escapes: a message is one line, and names from elsewhere cannot steer a terminal.
struct Escaped<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(char::is_control) {
            self.0.write_str(&rest[..at])?;
            let mut after = rest[at..].chars();
            after.next().map_or(Ok(()), |control| write!(self.0, "{}", control.escape_default()))?;
            rest = after.as_str();
        }
        self.0.write_str(rest)
    }
}

/// A number as an error message may show it: the digits that bring it back, never hundreds of them.
///
/// ```
/// use unmissed::error::digits;
/// assert_eq!((digits(0.25), digits(3.0), digits(1e300)), ("0.25".into(), "3".into(), "1e300".into()));
/// ```
pub fn digits(number: f64) -> String {
    let digits = format!("{number:?}");
    digits.strip_suffix(".0").map(str::to_owned).unwrap_or(digits)
}

/// A number of bytes, for people.
///
/// ```
/// use unmissed::error::byte_count;
/// assert_eq!([1, 1_500, 12_340_000, 999_960].map(byte_count), ["1 B", "1.5 kB", "12.3 MB", "1.0 MB"]);
/// ```
pub fn byte_count(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let units = [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
    // What would be rounded to 1000.0 of a unit is 1.0 of the next.
    let fits = |(_, size): &&(&str, f64)| bytes as f64 / size < 999.95;
    let (unit, size) = units.iter().find(fits).unwrap_or(&units[3]);
    format!("{:.1} {unit}", bytes as f64 / size)
}

/// A piece of a file as an error message may show it: short, printable, quoted.
///
/// ```
/// assert_eq!(unmissed::error::shown(b"12:x\0"), r#""12:x\x00""#);
/// ```
pub fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let cut = bytes.len() > MOST;
    let text = bytes[..bytes.len().min(MOST)].escape_ascii();
    if cut { format!("\"{text}...\"") } else { format!("\"{text}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_shows_once_and_in_order() {
        let error = Error::value("k is out of range")
            .expected("at least 1")
            .found("0")
            .hint("pass --k 1,3,5")
            .in_file("a")
            .in_file("b")
            .at(2)
            .at(9);
        assert_eq!(error.to_string(), "a:2: k is out of range: expected at least 1, found 0; pass --k 1,3,5");
        assert_eq!((error.path(), error.line()), (Some(Path::new("a")), Some(2)));
    }

    #[test]
    fn control_characters_are_escaped_wherever_they_come_from() {
        let error = Error::value("no 'a\nb'").found("\x1b[31m").hint("\u{9b}x\u{7f}").in_file("x\r\ty.txt");
        assert_eq!(error.to_string(), r"x\r\ty.txt: no 'a\nb': found \u{1b}[31m; \u{9b}x\u{7f}");
        assert!(!Error::format("caf\u{e9}").to_string().contains('\\'));
    }

    #[test]
    fn io_errors_name_the_cause() {
        let cause = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let error = Error::io("cannot open", "x.txt", cause).hint("is the name right?");
        assert_eq!(format!("{error:#}"), "x.txt: cannot open: no such file; is the name right?");
        assert_eq!((error.kind(), error.io_kind()), (ErrorKind::Io, Some(std::io::ErrorKind::NotFound)));
    }

    /// Printing an error and its sources, one after the other, as error reporters do.
    #[test]
    fn a_chain_of_causes_says_everything_once() {
        let cause = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let error: Box<dyn std::error::Error + Send + Sync> = Box::new(Error::io("cannot open", "x.txt", cause));
        let chain: Vec<String> =
            std::iter::successors(Some(&*error as &dyn std::error::Error), |error| error.source()).map(|e| e.to_string()).collect();
        assert_eq!(chain, ["x.txt: cannot open", "no such file"]);
        let above = Error::value("no propensities").caused_by(error);
        assert_eq!(format!("{above:#}"), "no propensities: x.txt: cannot open: no such file");
        assert_eq!(above.io_kind(), None);
    }
}
