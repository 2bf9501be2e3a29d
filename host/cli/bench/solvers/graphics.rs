//! Table 7.7: one core and a GPU.

use trisolar::nbody::{self, CpuEngine, Options, Precision, Schedule, Solver};
use trisolar::run::{Backend, EngineError};
use trisolar::simd::Simd;

use super::{Row, Tables, fastest, problem};
use crate::Failure;

/// Particles, and the serial and CUDA seconds of Pacheco & Malensek (2021), who do not say for how many steps.
const BOOK: [(usize, [f64; 2]); 6] = [
    (1024, [7.01e-2, 1.93e-3]),
    (2048, [2.82e-1, 2.89e-3]),
    (32_768, [5.07e1, 7.34e-2]),
    (65_536, [2.02e2, 2.94e-1]),
    (262_144, [3.23e3, 2.24]),
    (1_048_576, [5.20e4, 4.81e1]),
];
/// Largest number of particles that one core computes; for more, which would take minutes, the time is scaled as N².
const MAX_SERIAL_BODIES: usize = 32_768;
/// Pairs of a measurement on a GPU, so that it takes at least a tenth of a second.
const MIN_PAIRS: u64 = 200_000_000_000;

pub(super) fn measure(
    tables: &mut Tables,
    repeats: u32,
    simd: Option<Simd>,
) -> Result<(), Failure> {
    tables.heading(
        "Table 7.7: seconds per step on one core (f64, reduced) and on a GPU (f32). ~: scaled as N² from the largest measured \
         number of particles. The ratios of Pacheco & Malensek (2021) are in parentheses.",
    );
    let (gpu, said) = match gpu() {
        Ok(engine) => {
            let name = engine.device();
            (Some(engine), name)
        }
        Err(error) => (None, format!("no GPU measured: {error}")),
    };
    tables.paragraph(&format!("({said})"));
    tables.line(&format!(
        "{:>10}{:>14}{:>14}{:>22}",
        "particles", "one core", "GPU", "ratio"
    ));
    let cpu = CpuEngine::with_simd(Some(1), Schedule::Dynamic, simd)?;
    let mut serial = 0.0;
    let mut measured = 0;
    for (n, [book_serial, book_cuda]) in BOOK {
        let scaled = n > MAX_SERIAL_BODIES;
        if scaled {
            serial *= (n as f64 / measured as f64).powi(2);
        } else {
            let steps = (40_000_000 / (n * n) as u64).max(1);
            let problem = problem(n, Solver::Reduced, Precision::F64)?;
            serial = fastest(&cpu, &problem, steps, repeats)?.0 / steps as f64;
            tables
                .rows
                .push(row("one core", n, 1, serial, Some(book_serial)));
        }
        measured = n;
        let mut line = format!(
            "{n:>10}{:>14}",
            format!("{}{serial:.3e}", if scaled { "~" } else { "" })
        );
        if let Some(engine) = &gpu {
            let steps = (MIN_PAIRS / (n * n) as u64).clamp(1, 2000);
            let problem = problem(n, Solver::Reduced, Precision::F32)?;
            let warm = fastest(engine.as_ref(), &problem, 1, 1)?;
            drop(warm);
            let seconds = fastest(engine.as_ref(), &problem, steps, repeats)?.0 / steps as f64;
            line.push_str(&format!(
                "{seconds:>14.3e}{:>22}",
                format!("{:.0} ({:.0})", serial / seconds, book_serial / book_cuda)
            ));
            tables.rows.push(row("GPU", n, 1, seconds, Some(book_cuda)));
        } else {
            line.push_str(&format!(
                "{:>14}{:>22}",
                "-",
                format!("- ({:.0})", book_serial / book_cuda)
            ));
        }
        tables.line(&line);
    }
    Ok(())
}

fn row(name: &str, bodies: usize, steps: u64, seconds: f64, book_seconds: Option<f64>) -> Row {
    Row {
        table: "7.7",
        name: name.to_owned(),
        workers: 1,
        bodies,
        steps,
        seconds,
        book_seconds,
    }
}

fn gpu() -> Result<Box<dyn nbody::Engine>, EngineError> {
    let any = problem(2, Solver::Reduced, Precision::F32)
        .map_err(|_| EngineError::NoGpu("the problem is not valid".into()))?;
    let options = Options {
        backend: Backend::Gpu,
        ..Options::default()
    };
    Ok(nbody::engine(&any, &options)?.0)
}
