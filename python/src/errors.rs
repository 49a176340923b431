//! The library's errors as Python's exceptions, with the library's words.

use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyPermissionError, PyValueError};
use pyo3::{PyErr, create_exception};
use std::error::Error as _;
use std::io;
use unmissed::data::{printable, printable_lines};
use unmissed::error::{Error, ErrorKind};

create_exception!(unmissed, FormatError, PyValueError, "The content of a file, or of a matrix, is not what it should be.");

/// The exception for an error.
pub(crate) fn exception(error: Error) -> PyErr {
    // A traceback is printed, and names of files and models come from elsewhere.
    let text = printable_lines(&format!("{error:#}"));
    match error.kind() {
        ErrorKind::Io => system(&error, text),
        ErrorKind::Format => FormatError::new_err(text),
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// What the system refused, as `open` raises it. Of a number Python makes a `FileNotFoundError` and the like itself.
fn system(error: &Error, text: String) -> PyErr {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    match (cause.and_then(io::Error::raw_os_error), error.path()) {
        (Some(number), Some(path)) => {
            let place = format!("{}: ", printable(&path.to_string_lossy()));
            let what = text.strip_prefix(&place).unwrap_or(&text).to_owned();
            PyOSError::new_err((number, what, path.to_path_buf()))
        }
        _ => match error.io_kind() {
            Some(io::ErrorKind::NotFound) => PyFileNotFoundError::new_err(text),
            Some(io::ErrorKind::PermissionDenied) => PyPermissionError::new_err(text),
            Some(io::ErrorKind::AlreadyExists) => PyFileExistsError::new_err(text),
            _ => PyOSError::new_err(text),
        },
    }
}
