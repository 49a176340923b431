//! Progress on a terminal: a bar that shows up when work takes longer than a second, and goes when it is done.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use unmissed::progress::Progress;

/// Work shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the clock on the screen moves.
const TICK: Duration = Duration::from_millis(250);

pub(crate) struct Bar {
    visible: bool,
    stage: Mutex<Option<ProgressBar>>,
}

impl Bar {
    pub(crate) fn new(visible: bool) -> Bar {
        Bar { visible, stage: Mutex::new(None) }
    }

    fn stage(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the bar off the screen.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.stage().take() {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Bar {
    fn begin(&self, stage: &str, total: u64) {
        self.clear();
        if !self.visible {
            return;
        }
        let bar = ProgressBar::with_draw_target((total > 0).then_some(total), ProgressDrawTarget::hidden());
        let template = if total > 0 { "{msg} {wide_bar} {percent}% {eta}" } else { "{msg} {spinner} {elapsed}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(stage.to_owned());
        *self.stage() = Some(bar.clone());
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            if !bar.is_finished() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(TICK);
            }
        });
    }

    fn advance(&self, amount: u64) -> unmissed::Result<()> {
        if let Some(bar) = self.stage().as_ref() {
            bar.inc(amount);
        }
        Ok(())
    }
}
