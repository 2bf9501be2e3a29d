//! `trisolar bench solvers`: repeats tables 7.3 and 7.5 to 7.7 of Pacheco & Malensek (2021) on this machine, and compares serial C
//! loops after them with Trisolar on one core.

mod graphics;
mod peer;
mod processes;
mod threads;

use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use trisolar::io::IoError;
use trisolar::io::atomic::write_with;
use trisolar::machine;
use trisolar::nbody::{
    Bodies, Engine, Integrator, Model, Precision, Solver, Specification, Validated,
};
use trisolar::run::{Outputs, Unattended};

use crate::cpu_args::CpuArgs;
use crate::report::{self, Common};
use crate::{Failure, interrupt};

/// Measures the solvers on the line of particles of Pacheco & Malensek (2021).
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("threads", |threads| threads.help(
        "Largest number of threads and processes, 1 to 4096 [default: the number of cores, at most 16]"
    )),
    about = "Measure N-body solvers: the tables of Pacheco & Malensek (2021), and Trisolar beside C loops after them on one core"
)]
pub(crate) struct Args {
    /// Steps of tables 7.3, 7.5 and 7.6
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    steps: u64,
    #[command(flatten)]
    cpu: CpuArgs,
    /// Number of repeats, the fastest of which is reported
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    /// Write the measurements to a CSV file
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Print one JSON object instead of the tables
    #[arg(long)]
    json: bool,
}

/// What was measured.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Row {
    /// The table that it belongs to.
    pub table: &'static str,
    /// What was measured.
    pub name: String,
    /// Threads or processes.
    pub workers: usize,
    pub bodies: usize,
    pub steps: u64,
    pub seconds: f64,
    /// The value of Pacheco & Malensek (2021).
    pub book_seconds: Option<f64>,
}

impl Row {
    /// N² · steps / time, whether each pair is evaluated once or twice.
    pub(super) fn rate(&self) -> f64 {
        (self.bodies as f64).powi(2) * self.steps as f64 / self.seconds
    }
}

/// Tables of the report, and their rows.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub text: String,
    pub rows: Vec<Row>,
}

impl Tables {
    /// Adds a line.
    pub(super) fn line(&mut self, text: &str) {
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    /// Adds a heading.
    pub(super) fn heading(&mut self, text: &str) {
        self.text.push('\n');
        self.paragraph(text);
    }

    /// Adds a text, wrapped into lines.
    pub(super) fn paragraph(&mut self, text: &str) {
        let lines = textwrap::wrap(text, 80);
        lines.iter().for_each(|line| self.line(line));
    }
}

/// Measures and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut outputs = Outputs::new();
    if let Some(path) = &args.csv {
        outputs.file("--csv", path);
    }
    let _claim = outputs.claim()?;
    interrupt::watch()?;
    let mut tables = Tables::default();
    tables.line(&format!("cpu           {}", machine::cpu_name()));
    let most = args
        .cpu
        .threads
        .unwrap_or_else(|| machine::threads().min(16));
    let simd = args.cpu.simd();
    peer::measure(&mut tables, args.repeats, simd)?;
    threads::measure(&mut tables, args.steps, most, args.repeats, simd)?;
    processes::measure(&mut tables, args.steps, most, args.repeats, simd)?;
    graphics::measure(&mut tables, args.repeats, simd)?;
    tables.line("\nseconds: the fastest of the repeats; in parentheses: Pacheco & Malensek (2021)");
    if let Some(path) = &args.csv {
        write_csv(path, &tables.rows)?;
    }
    if args.json {
        let cpu = machine::cpu_name();
        let specification = json!({ "steps": args.steps, "repeats": args.repeats });
        // The rows are compared by their times.
        let common = Common {
            files: args.csv.iter().cloned().collect(),
            ..super::common(begin, specification, [&cpu[..]], [], "")
        };
        return report::json(&common.with(json!({ "cpu": cpu, "rows": tables.rows })));
    }
    report::to_stdout(tables.text.trim_end())
}

fn write_csv(path: &std::path::Path, rows: &[Row]) -> Result<(), IoError> {
    let mut text = String::from(
        "table,name,workers,bodies,steps,seconds,interactions_per_second,book_seconds\n",
    );
    for r in rows {
        let book = r.book_seconds.map_or(String::new(), |s| s.to_string());
        text.push_str(&format!(
            "{},\"{}\",{},{},{},{},{},{book}\n",
            r.table,
            r.name,
            r.workers,
            r.bodies,
            r.steps,
            r.seconds,
            r.rate()
        ));
    }
    write_with(path, |file| {
        std::io::Write::write_all(file, text.as_bytes()).map_err(|e| file.error(e))
    })
}

/// The problem of Pacheco & Malensek (2021): a line of particles, explicit Euler, two dimensions.
pub(super) fn problem(
    n: usize,
    solver: Solver,
    precision: Precision,
) -> Result<Validated, Failure> {
    let spec = Specification {
        g: Model::Line.natural_g(),
        dt: 0.01,
        dimensions: 2,
        integrator: Integrator::ExplicitEuler.into(),
        solver,
        precision,
        ..Specification::default()
    };
    let bodies = Model::Line.build(Some(n), 0, spec.g, 2);
    bodies
        .map_err(trisolar::nbody::SpecError::from)
        .and_then(|b| spec.validate(b))
        .map_err(|e| Failure::Failed(e.to_string()))
}

/// Seconds of the fastest of some runs, without start-up, and the bodies at the end.
pub(super) fn fastest(
    engine: &dyn Engine,
    problem: &Validated,
    steps: u64,
    repeats: u32,
) -> Result<(f64, Bodies), Failure> {
    let mut best = f64::INFINITY;
    let mut end = Bodies::default();
    for _ in 0..repeats {
        interrupt::check()?;
        let mut run = engine.start(problem, problem.bodies())?;
        let start = Instant::now();
        run.advance(steps, &Unattended)?;
        // On a GPU, steps are done when their results are on the host.
        end = run.bodies()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok((best, end))
}

/// 1, 2, 4, … up to `most`, as in Pacheco & Malensek (2021).
pub(super) fn doublings(most: usize, last: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |n| Some(2 * n)).take_while(move |n| *n <= most.min(last))
}
