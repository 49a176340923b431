//! The library's errors as Python's exceptions, with the library's words.

use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyPermissionError, PyValueError};
use pyo3::{PyErr, create_exception};
use std::io;
use unmissed::error::{Error, ErrorKind};

create_exception!(unmissed, FormatError, PyValueError, "The content of a file, or of a matrix, is not what it should be.");

/// The exception for an error.
pub(crate) fn exception(error: Error) -> PyErr {
    let text = format!("{error:#}");
    match (error.kind(), error.io_kind()) {
        (ErrorKind::Io, Some(io::ErrorKind::NotFound)) => PyFileNotFoundError::new_err(text),
        (ErrorKind::Io, Some(io::ErrorKind::PermissionDenied)) => PyPermissionError::new_err(text),
        (ErrorKind::Io, Some(io::ErrorKind::AlreadyExists)) => PyFileExistsError::new_err(text),
        (ErrorKind::Io, _) => PyOSError::new_err(text),
        (ErrorKind::Format, _) => FormatError::new_err(text),
        (ErrorKind::Interrupted, _) => PyKeyboardInterrupt::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
