//! Progress on a terminal: a bar that shows up when work takes longer than a second, and goes when it is done.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use unmissed::progress::Progress;

/// Work shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Bar {
    visible: bool,
    stage: Mutex<Option<Stage>>,
}

struct Stage {
    bar: ProgressBar,
    start: Instant,
    shown: bool,
}

impl Bar {
    pub(crate) fn new(visible: bool) -> Bar {
        Bar { visible, stage: Mutex::new(None) }
    }

    fn stage(&self) -> MutexGuard<'_, Option<Stage>> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the bar off the screen.
    pub(crate) fn clear(&self) {
        if let Some(stage) = self.stage().take() {
            stage.bar.finish_and_clear();
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
        *self.stage() = Some(Stage { bar, start: Instant::now(), shown: false });
    }

    fn advance(&self, amount: u64) -> unmissed::Result<()> {
        if let Some(stage) = self.stage().as_mut() {
            stage.bar.inc(amount);
            if !stage.shown && stage.start.elapsed() > PATIENCE {
                stage.bar.set_draw_target(ProgressDrawTarget::stderr());
                stage.shown = true;
            }
        }
        Ok(())
    }
}
