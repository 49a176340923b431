//! Long work: without the interpreter's lock, on as many threads as asked for, watched by the thread that called.
//!
//! Signals reach Python only in its main thread, so the work goes to the pool and the caller stays behind: every [`TICK`] it
//! takes the lock, lets Python handle signals, and shows how far the work is. A pool lives as long as the call: threads that
//! outlive it would be missing in a forked child, and work sent to them would never end. For the same reason nothing may run on
//! rayon's global pool: short work outside of [`run`] goes through [`alone`]. Only [`KeptPool`] outlives a call, because it knows its process.

use crate::errors::exception;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use unmissed::progress::Progress;
use unmissed::{Error, Result};

/// How often the caller looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(100);

/// How many threads, and what to call about progress: `show(stage, done, total)`.
#[derive(FromPyObject)]
pub(crate) struct How {
    #[pyo3(item)]
    threads: Option<usize>,
    #[pyo3(item)]
    show: Option<Py<PyAny>>,
}

/// What is known about the work that runs.
#[derive(Default)]
pub(crate) struct Watch {
    stopped: AtomicBool,
    done: AtomicU64,
    stage: Mutex<(String, u64)>,
}

impl Progress for Watch {
    fn begin(&self, stage: &str, total: u64) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = (stage.to_owned(), total);
        self.done.store(0, Ordering::Relaxed);
    }

    fn advance(&self, amount: u64) -> Result<()> {
        self.done.fetch_add(amount, Ordering::Relaxed);
        if self.stopped.load(Ordering::Relaxed) { Err(Error::interrupted()) } else { Ok(()) }
    }
}

impl Watch {
    fn look(&self, show: Option<&Py<PyAny>>) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(show) = show {
                let (stage, total) = self.stage.lock().unwrap_or_else(PoisonError::into_inner).clone();
                show.call1(py, (stage, self.done.load(Ordering::Relaxed), total))?;
            }
            Ok(())
        })
    }

    /// Waits for the result; an exception meanwhile stops the work. Work that panicked leaves none.
    fn wait<T>(&self, receiver: &Receiver<Result<T>>, show: Option<&Py<PyAny>>, leave: bool) -> PyResult<Option<T>> {
        let mut raised = None;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(result) => return raised.map_or_else(|| result.map(Some).map_err(exception), Err),
                Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                    if let Err(error) = self.look(show) {
                        self.stopped.store(true, Ordering::Relaxed);
                        if leave {
                            return Err(error);
                        }
                        raised = Some(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }
}

fn pool(threads: Option<usize>) -> PyResult<rayon::ThreadPool> {
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    built.map_err(|cause| exception(Error::value(format!("cannot start threads: {cause}"))))
}

/// Runs short work, such as checks and copies, on one thread.
pub(crate) fn alone<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(|| pool(Some(1))?.install(work).map_err(exception))
}

/// Runs work that reports progress, and so can be stopped.
pub(crate) fn run<T: Send>(py: Python<'_>, how: &How, work: impl FnOnce(&Watch) -> Result<T> + Send) -> PyResult<T> {
    py.detach(|| run_on(&pool(how.threads)?, how, work))
}

fn run_on<T: Send>(pool: &rayon::ThreadPool, how: &How, work: impl FnOnce(&Watch) -> Result<T> + Send) -> PyResult<T> {
    let watch = &Watch::default();
    let (sender, receiver) = channel();
    let result = pool.in_place_scope(|scope| {
        // The sender goes along, so that the caller does not wait for work that panicked.
        scope.spawn(move |_| {
            // The caller waits for this; it cannot have gone away.
            let _ = sender.send(work(watch));
        });
        watch.wait(&receiver, how.show.as_ref(), false)
    })?;
    // The scope has passed a panic on.
    result.ok_or_else(|| exception(Error::interrupted()))
}

/// A pool for many short calls, each of which would otherwise take longer to start threads than to work. A forked child has none of
/// its threads, so it makes its own.
#[derive(Default)]
pub(crate) struct KeptPool(Mutex<Option<Kept>>);

struct Kept {
    process: u32,
    threads: Option<usize>,
    pool: Arc<rayon::ThreadPool>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // Ending a pool wakes its threads, which this process does not have; a lock that they held at the fork stays locked.
            std::mem::forget(Arc::clone(&self.pool));
        }
    }
}

impl KeptPool {
    /// As [`run`].
    pub(crate) fn run<T: Send>(&self, py: Python<'_>, how: &How, work: impl FnOnce(&Watch) -> Result<T> + Send) -> PyResult<T> {
        py.detach(|| run_on(&*self.pool(how.threads)?, how, work))
    }

    fn pool(&self, threads: Option<usize>) -> PyResult<Arc<rayon::ThreadPool>> {
        let process = std::process::id();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.process == process && kept.threads == threads) {
            return Ok(Arc::clone(&kept.pool));
        }
        let pool = Arc::new(pool(threads)?);
        *kept = Some(Kept { process, threads, pool: Arc::clone(&pool) });
        Ok(pool)
    }
}

/// Runs work that reports no progress. Ctrl-C leaves it behind to end by itself, which is why it has to own what it works on.
pub(crate) fn run_owned<T: Send + 'static>(
    py: Python<'_>,
    how: &How,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    py.detach(|| {
        let pool = pool(how.threads)?;
        let (sender, receiver) = channel();
        let worker = std::thread::spawn(move || {
            // Whoever asked may have left.
            let _ = sender.send(pool.install(work));
        });
        match Watch::default().wait(&receiver, how.show.as_ref(), true)? {
            Some(result) => Ok(result),
            None => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => Err(exception(Error::interrupted())),
            },
        }
    })
}

/// Work that panics, for a test that the caller hears of it.
#[pyfunction]
pub(crate) fn panics(py: Python<'_>, owned: bool, how: How) -> PyResult<()> {
    if owned { run_owned(py, &how, || panic!("on purpose")) } else { run(py, &how, |_| panic!("on purpose")) }
}
