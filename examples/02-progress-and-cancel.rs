//! Reports the progress of a run and cancels it: `cargo run --release --example 02-progress-and-cancel`.

use std::time::{Duration, Instant};

use trisolar::divergence::{EngineError, Monitor, RunOptions, SpecError, Specification, run};

/// Prints percentages, and cancels the run after a time limit.
struct Patience {
    until: Instant,
}

impl Monitor for Patience {
    fn progress(&self, done: u64, total: u64) {
        eprint!("\r{:3.0} %", 100.0 * done as f64 / total as f64);
    }

    fn cancelled(&self) -> bool {
        Instant::now() > self.until
    }
}

fn main() -> Result<(), SpecError> {
    let map = Specification {
        size: [600, 600],
        ..Specification::default()
    }
    .validate()?;
    let patience = Patience {
        until: Instant::now() + Duration::from_secs(2),
    };
    match run(&map, &RunOptions::default(), &patience) {
        Ok(map) => println!("\ndone in {:.2?}", map.elapsed),
        Err(EngineError::Cancelled) => println!("\nno patience left"),
        Err(error) => println!("\n{error}"),
    }
    Ok(())
}
