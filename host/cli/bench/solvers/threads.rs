//! Table 7.3: threads and schedules, with load balance and memory of partial sums.

use trisolar::nbody::{CpuEngine, Partials, Precision, Schedule, Solver};
use trisolar::simd::Simd;

use super::{Row, Tables, doublings, fastest, problem};
use crate::{Failure, report};

/// Run times of Pacheco & Malensek (2021) with OpenMP: basic; reduced with the default (block) schedule, with cyclic forces, and
/// all cyclic.
const BOOK: [(usize, [f64; 4]); 4] = [
    (1, [7.71, 3.90, 3.90, 3.90]),
    (2, [3.87, 2.94, 1.98, 2.01]),
    (4, [1.95, 1.73, 1.01, 1.08]),
    (8, [0.99, 0.95, 0.54, 0.61]),
];
const COLUMNS: [(&str, Solver, Schedule); 4] = [
    ("basic", Solver::Basic, Schedule::Block),
    ("reduced, block", Solver::Reduced, Schedule::Block),
    ("forces cyclic", Solver::Reduced, Schedule::CyclicForces),
    ("all cyclic", Solver::Reduced, Schedule::Cyclic),
];
/// The number of particles of Pacheco & Malensek (2021), and one with enough rows of 128 for many threads.
const BODIES: [usize; 2] = [400, 6400];
/// Bodies per row, the unit that threads share.
const ROW: usize = 128;

pub(super) fn measure(
    tables: &mut Tables,
    steps: u64,
    most: usize,
    repeats: u32,
    simd: Option<Simd>,
) -> Result<(), Failure> {
    for n in BODIES {
        // The same number of pairs, but at least a few steps.
        let steps = (steps * 400 * 400 / (n * n) as u64).max(4).min(steps);
        tables.heading(&format!(
            "Table 7.3: threads, {n} particles, {steps} steps. Rows of {ROW} particles are assigned to threads, in blocks or in \
             turn; each row has partial sums of its own, which are added in the order of the rows."
        ));
        let names = COLUMNS.map(|(name, ..)| format!("{name:>18}")).concat();
        tables.line(&format!("{:<8}{names}", "threads"));
        for threads in doublings(most, 8) {
            let mut line = format!("{threads:<8}");
            for (k, (name, solver, schedule)) in COLUMNS.into_iter().enumerate() {
                let problem = problem(n, solver, Precision::F64)?;
                let engine = CpuEngine::with_simd(Some(threads), schedule, simd)?;
                let (seconds, _) = fastest(&engine, &problem, steps, repeats)?;
                let book = BOOK
                    .iter()
                    .find(|(t, _)| *t == threads && n == BODIES[0])
                    .map(|(_, times)| times[k]);
                line.push_str(&cell(seconds, book, 18));
                tables.rows.push(Row {
                    table: "7.3",
                    name: name.to_owned(),
                    workers: threads,
                    bodies: n,
                    steps,
                    seconds,
                    book_seconds: book,
                });
            }
            tables.line(&line);
        }
    }
    balance(tables);
    memory(tables, most)
}

/// Seconds, with those of Pacheco & Malensek (2021) in parentheses.
pub(super) fn cell(seconds: f64, book: Option<f64>, width: usize) -> String {
    let book = book.map_or(String::new(), |b| format!(" ({b:.2})"));
    format!("{:>width$}", format!("{seconds:.4}{book}"))
}

/// Reports the work of the busiest thread relative to the mean.
fn balance(tables: &mut Tables) {
    tables.heading(
        "Load balance of the reduced solver: pairs of the busiest thread over the mean, by schedule. The first rows are \
         evaluated with all particles, the last rows only with themselves.",
    );
    tables.line(&format!(
        "{:<8}{:>16}{:>16}{:>16}{:>16}",
        "threads", "400 block", "400 cyclic", "6400 block", "6400 cyclic"
    ));
    for threads in [2, 4, 8, 16] {
        let mut line = format!("{threads:<8}");
        for n in BODIES {
            for cyclic in [false, true] {
                line.push_str(&format!("{:>16.2}", busiest(n, threads, cyclic)));
            }
        }
        tables.line(&line);
    }
}

fn busiest(n: usize, threads: usize, cyclic: bool) -> f64 {
    let rows = n.div_ceil(ROW);
    let mut work = vec![0.0; threads];
    for row in 0..rows {
        let thread = if cyclic {
            row % threads
        } else {
            // The block that holds it: thread t has rows t·rows/threads up to (t + 1)·rows/threads.
            (0..threads)
                .find(|t| row < (t + 1) * rows / threads)
                .unwrap_or(threads - 1)
        };
        work[thread] += (n - row * ROW).min(ROW) as f64 * (n - row * ROW) as f64;
    }
    let sum: f64 = work.iter().sum();
    work.iter().fold(0.0_f64, |most, w| most.max(*w)) / (sum / threads as f64)
}

/// Memory of the arrays of Pacheco & Malensek (2021), one per thread, and of Trisolar's, one per row in progress.
fn memory(tables: &mut Tables, most: usize) -> Result<(), Failure> {
    let threads = most.max(2);
    tables.heading(&format!(
        "Memory for partial sums of the reduced solver with {threads} threads: an array for each thread (Pacheco & Malensek 2021, \
         --partials threads), for each row in progress (--partials rows: equal bits for any number of threads)."
    ));
    tables.line(&format!(
        "{:<12}{:>16}{:>16}",
        "particles", "threads", "rows"
    ));
    for n in [400, 6400, 65_536, 1_048_576] {
        let mut line = format!("{:<12}", report::grouped(n as u64));
        for partials in [Partials::Threads, Partials::Rows] {
            let engine = CpuEngine::new(Some(threads), Schedule::Cyclic)?.with_partials(partials);
            line.push_str(&format!(
                "{:>16}",
                report::bytes(engine.partials_bytes(n) as u64)
            ));
        }
        tables.line(&line);
    }
    Ok(())
}
