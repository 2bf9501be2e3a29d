//! The progress bar on the terminal, and cancellation by Ctrl-C.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use trisolar::run::Monitor;

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
        let bar = ProgressBar::new(1).with_message(shortened(title));
        bar.set_style(style());
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

/// Largest number of characters of a title: with it, a line fits 40 columns.
const MAX_TITLE: usize = 14;

/// The title of a bar, of which the name of a file may be too long.
fn shortened(title: &str) -> String {
    match title.char_indices().nth(MAX_TITLE) {
        None => title.to_owned(),
        Some(_) => {
            let kept = title.chars().take(MAX_TITLE - 1);
            kept.chain(['…']).collect()
        }
    }
}

/// The line of a bar, which takes what a narrow terminal leaves.
fn style() -> ProgressStyle {
    ProgressStyle::with_template("{msg} {percent:>3} % [{wide_bar}] {elapsed} ETA {eta}")
        .expect("a template that a test has drawn")
        .progress_chars("=> ")
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

#[cfg(test)]
mod tests {
    use super::*;

    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::{ProgressDrawTarget, TermLike};

    /// A terminal of this many columns, which keeps the lines that are drawn.
    #[derive(Debug, Clone)]
    struct Terminal {
        columns: u16,
        drawn: Arc<Mutex<Vec<String>>>,
        cleared: Arc<Mutex<bool>>,
    }

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            self.columns
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, line: &str) -> io::Result<()> {
            self.write_str(line)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            if !text.trim().is_empty() {
                self.drawn.lock().unwrap().push(text.to_owned());
                *self.cleared.lock().unwrap() = false;
            }
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            *self.cleared.lock().unwrap() = true;
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_long_title_is_shortened() {
        assert_eq!(shortened("outer-planets"), "outer-planets");
        let name = shortened("/data/runs/a-long-name-of-bodies.csv");
        assert_eq!(name, "/data/runs/a-…");
        assert_eq!(name.chars().count(), MAX_TITLE);
    }

    #[test]
    fn a_bar_fits_a_narrow_terminal_and_leaves_nothing() {
        for columns in [40, 60, 120] {
            let terminal = Terminal {
                columns,
                drawn: Arc::default(),
                cleared: Arc::default(),
            };
            let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
            // The longest title of a computation, and a run that takes days.
            let bar = ProgressBar::with_draw_target(Some(1_000_000), target);
            bar.set_style(style());
            bar.set_message("outer-planets");
            let bar = bar.with_elapsed(Duration::from_secs(90_000));
            let progress = Progress { bar };
            for done in [1, 10_000, 500_000, 999_999] {
                progress.progress(done, 1_000_000);
                progress.bar.force_draw();
            }
            progress.finish();
            let drawn = terminal.drawn.lock().unwrap();
            assert!(drawn.len() >= 4, "{drawn:?}");
            for line in drawn.iter() {
                assert!(line.chars().count() <= usize::from(columns), "{line:?}");
                assert!(
                    line.starts_with("outer-planets ") && line.contains("ETA "),
                    "{line:?}"
                );
            }
            assert!(
                drawn.iter().any(|line| line.contains("50 % [=")),
                "{drawn:?}"
            );
            assert!(*terminal.cleared.lock().unwrap());
        }
    }
}
