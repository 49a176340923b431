//! What benchmarks share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The most that the process's anonymous memory grew while `work` ran, sampled every 200 microseconds.
pub(crate) fn peak_anonymous(work: impl FnOnce()) -> u64 {
    let before = anonymous();
    let (peak, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                peak.fetch_max(anonymous(), Relaxed);
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        });
        work();
        done.store(true, Relaxed);
    });
    peak.into_inner().saturating_sub(before)
}

fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).and_then(|rest| rest.split_whitespace().next());
    kilobytes.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
}
