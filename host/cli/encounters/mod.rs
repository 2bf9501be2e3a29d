//! `trisolar encounters`: three bodies integrated to the end, their records, summary and pictures.

use std::path::PathBuf;

use serde_json::json;
use trisolar::divergence::EngineError;
use trisolar::encounters::files::Format;
use trisolar::encounters::{self, Ensemble, Summary, Validated, pictures};
use trisolar::run;

use super::progress::Progress;
use super::report::{self, Lines};
use super::{Failure, interrupt};

mod options;

pub(crate) use options::Args;

/// The files to be written, their names checked.
struct Outputs {
    out: Vec<(PathBuf, Format)>,
    plots: Option<PathBuf>,
}

impl Outputs {
    fn new(args: &Args, spec: &Validated) -> Result<Self, Failure> {
        let mut out = Vec::new();
        for path in &args.out {
            let refuse = |reason| Failure::value(&path.display().to_string(), "--out", reason);
            out.push((path.clone(), Format::of(path, spec).map_err(refuse)?));
        }
        Ok(Self {
            out,
            plots: args.plots.clone(),
        })
    }

    /// All of them, to be checked and locked.
    fn declared(&self, args: &Args) -> run::Outputs {
        let mut outputs = run::Outputs::new();
        for (path, _) in &self.out {
            outputs.file("--out", path);
        }
        if let Some(prefix) = &self.plots {
            for path in pictures::histogram_paths(prefix) {
                outputs.file("--plots", &path);
            }
        }
        if let Some(path) = &args.points {
            outputs.input("--points", path);
        }
        outputs
    }

    /// Writes everything; returns the files that were written.
    fn write(
        &self,
        args: &Args,
        spec: &Validated,
        ensemble: &Ensemble,
    ) -> Result<Vec<PathBuf>, Failure> {
        let mut written = Vec::new();
        for (path, format) in &self.out {
            format.write(path, spec, ensemble, args.theme)?;
            written.push(path.clone());
        }
        if let Some(prefix) = &self.plots {
            written.extend(pictures::histograms(prefix, ensemble, args.theme)?);
        }
        Ok(written)
    }
}

/// Computes encounters and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let options = encounters::Options {
        backend: args.backend,
        threads: args.threads,
        gpus: args.gpus,
    };
    options.checked_backend()?;
    let spec = args.validated()?;
    let outputs = Outputs::new(args, &spec)?;
    let _claim = outputs.declared(args).claim()?;
    interrupt::watch()?;
    let progress = Progress::new("encounters", args.quiet || args.json);
    let ensemble = encounters::run(&spec, &options, &progress).map_err(|error| match error {
        EngineError::OutOfMemory { .. } => {
            Failure::Failed(format!("{error}\nhint: use fewer runs (--n, --size)"))
        }
        error => error.into(),
    })?;
    progress.finish();
    let written = outputs.write(args, &spec, &ensemble)?;
    let summary = Summary::of(&ensemble);
    if !args.quiet {
        for warning in ensemble.notes.iter().chain(&summary.warnings()) {
            report::to_stderr(&format!("warning: {warning}"));
        }
    }
    if args.json {
        report::json(&object(&ensemble, &summary, &written))?;
    } else if !args.quiet {
        report::to_stdout(&text(&ensemble, &summary, &written))?;
    }
    summary.check(args.max_error).map_err(Failure::Failed)
}

/// Everything as one object.
fn object(ensemble: &Ensemble, summary: &Summary, written: &[PathBuf]) -> serde_json::Value {
    let seconds = ensemble.elapsed.as_secs_f64();
    json!({
        "specification": ensemble.specification,
        "engine": ensemble.engine,
        "device": ensemble.device,
        "seconds": seconds,
        "encounters_per_second": summary.runs as f64 / seconds,
        "kicks_per_second": ensemble.kicks() / seconds,
        "summary": summary,
        "files": written.iter().map(|p| p.to_string_lossy()).collect::<Vec<_>>(),
        "warnings": summary.warnings(),
        "notes": ensemble.notes,
    })
}

/// The summary.
fn text(ensemble: &Ensemble, summary: &Summary, written: &[PathBuf]) -> String {
    let spec = &ensemble.specification;
    let mut text = format!(
        "{:<32} {:>13} {:>10}   95 % interval\n",
        spec.setup.name(),
        "runs",
        "share"
    );
    let mut row = |indent: &str, share: &encounters::Share| {
        text.push_str(&format!(
            "{:<32} {:>13} {:>9.3}%   {:.3} to {:.3}\n",
            format!("{indent}{}", share.what),
            report::grouped(share.count),
            100.0 * share.share,
            100.0 * share.interval[0],
            100.0 * share.interval[1]
        ));
    };
    for share in &summary.outcomes {
        row("  ", share);
        if share.what == "escape" {
            summary.escapers.iter().for_each(|share| row("    ", share));
        }
    }
    text.push('\n');
    let mut lines = Lines::default();
    let time = |t: Option<f64>| t.map_or("open".to_owned(), |t| format!("{t:.6}"));
    let lives = &summary.lifetimes;
    let (median, ninety) = (time(lives.median), time(lives.ninety_percent));
    lines.add(
        "lifetime",
        &format!("median {median}, 90 % {ninety} units of time"),
    );
    if let Some(tail) = &lives.tail {
        let line = format!(
            "runs that last longer than t: t^-{:.3} (± {:.3}), from {:.4e} on",
            tail.exponent, tail.error, tail.from
        );
        lines.add("tail", &line);
    }
    let means = format!(
        "{:.1} steps, {:.3} excursions, {:.3} of them jumped over",
        summary.steps, summary.excursions, summary.jumps
    );
    lines.add("mean", &means);
    let errors = &summary.errors;
    let line = format!(
        "|ΔE/E| median {:.1e}, largest {:.1e}; angular momentum at most {:.1e}",
        errors.energy_median, errors.energy_largest, errors.momentum_largest
    );
    lines.add("errors", &line);
    lines.add(
        "engine",
        &format!("{}: {}", ensemble.engine, ensemble.device),
    );
    let seconds = ensemble.elapsed.as_secs_f64();
    let rates = format!(
        "{}, {:.4e} encounters/s, {:.3e} kicks/s",
        report::seconds(seconds),
        summary.runs as f64 / seconds,
        ensemble.kicks() / seconds
    );
    lines.add("time", &rates);
    for path in written {
        lines.add_whole("file", &path.display().to_string());
    }
    text + lines.as_str()
}
