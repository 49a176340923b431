//! Files that become shorter while they are mapped: the system answers a read beyond their new end with SIGBUS, which ends a process
//! without a word. Here it gets one.

const MESSAGE: &[u8] = b"error: a file was truncated while it was read\n\
      wait until the program that writes it has finished, or read it with --no-mmap\n";
/// The exit code of bad input.
const BAD_INPUT: libc::c_int = 2;

extern "C" fn on_bus_error(_: libc::c_int) {
    // SAFETY: both functions may be called in signal handlers, and the message is a static of this length.
    #[allow(unsafe_code)]
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(BAD_INPUT);
    }
}

/// From now on SIGBUS says what happened and ends the process. Unfinished files stay under their temporary names.
pub(crate) fn explain() {
    let handler: extern "C" fn(libc::c_int) = on_bus_error;
    // SAFETY: the handler only calls what may be called in signal handlers, and nothing else of this process handles SIGBUS.
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(libc::SIGBUS, handler as libc::sighandler_t);
    }
}
