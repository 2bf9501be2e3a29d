//! Reports the progress of a run and cancels it: `cargo run --release --example 02-progress-and-cancel`.

use std::time::{Duration, Instant};

use trisolar::divergence::{EngineError, Monitor, RunOptions, SpecError, Specification, run};

/// Prints percentages, and cancels the run after a time limit.
struct TimeLimit {
    deadline: Instant,
}

impl Monitor for TimeLimit {
    fn progress(&self, done: u64, total: u64) {
        eprint!("\r{:3.0} %", 100.0 * done as f64 / total as f64);
    }

    fn cancelled(&self) -> bool {
        Instant::now() > self.deadline
    }
}

fn main() -> Result<(), SpecError> {
    let map = Specification {
        size: [600, 600],
        ..Specification::default()
    }
    .validate()?;
    let monitor = TimeLimit {
        deadline: Instant::now() + Duration::from_secs(2),
    };
    match run(&map, &RunOptions::default(), &monitor) {
        Ok(map) => println!("\ndone in {:.2?}", map.report.elapsed),
        Err(EngineError::Cancelled) => println!("\ncancelled after the time limit"),
        Err(error) => println!("\n{error}"),
    }
    Ok(())
}
