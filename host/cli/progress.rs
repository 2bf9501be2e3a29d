//! The progress bar on the terminal, and cancellation by Ctrl-C.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use trisolar::divergence::Monitor;

use super::interrupt;

/// Shows a bar with an ETA on stderr, if that is a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar with this title; `quiet` shows none.
    pub(crate) fn new(title: &str, quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self {
                bar: ProgressBar::hidden(),
            };
        }
        let bar = ProgressBar::new(1).with_message(title.to_owned());
        // The bar takes what a narrow terminal leaves.
        let style = "{msg} {percent:>3} % [{wide_bar}] {elapsed} ETA {eta}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style.progress_chars("=> "));
        }
        // The bar moves even while a GPU's driver compiles the kernels.
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar }
    }

    /// Shows `done` of `total`, of which `before` was done before the start and took no time.
    pub(crate) fn progress_from(&self, before: u64, done: u64, total: u64) {
        if self.bar.position() < before {
            self.bar.set_length(total);
            self.bar.set_position(before);
            self.bar.reset_eta();
        }
        self.progress(done, total);
    }

    /// Removes the bar from the terminal.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Monitor for Progress {
    fn progress(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    fn cancelled(&self) -> bool {
        interrupt::interrupted()
    }
}

/// The progress of a run of which a part was done before.
#[derive(Debug)]
pub(crate) struct Rest<'a> {
    progress: &'a Progress,
    before: u64,
}

impl<'a> Rest<'a> {
    /// The progress of a run of which this number of steps was done before.
    pub(crate) fn new(progress: &'a Progress, before: u64) -> Self {
        Self { progress, before }
    }
}

impl Monitor for Rest<'_> {
    fn progress(&self, done: u64, total: u64) {
        self.progress.progress_from(
            self.before,
            self.before.saturating_add(done),
            self.before.saturating_add(total),
        );
    }

    fn cancelled(&self) -> bool {
        interrupt::interrupted()
    }
}
