//! The report of a run.

use serde_json::json;
use trisolar::nbody::NbodyRun;
use trisolar::time_run::{Recorder, TimeRun as _};

use super::options::{Args, OutputFormat};
use crate::Failure;
use crate::report::{self, Common, Lines};

/// The advice for a large error.
pub(super) const ADVICE: &str = "use a smaller --dt, a larger --softening or another --integrator";

/// A run that has ended.
pub(super) struct Report<'a, 'r> {
    pub args: &'a Args,
    pub recorder: &'a Recorder<NbodyRun<'r>>,
    /// The start in words.
    pub name: &'a str,
    pub notes: Vec<String>,
    /// Steps taken by this process.
    pub steps: u64,
    pub seconds: f64,
}

impl Report<'_, '_> {
    pub(super) fn print(&self) -> Result<(), Failure> {
        let run = &self.recorder.run;
        let (spec, engine) = (run.problem().specification(), run.engine());
        let Self {
            name,
            steps,
            seconds,
            ..
        } = *self;
        let n = run.problem().bodies().len();
        let own = run.own_steps();
        let tried = own.map_or(steps, |[_, tried]| tried);
        let interactions =
            (n as f64).powi(2) * tried as f64 * f64::from(spec.integrator.evaluations());
        let last = self.recorder.history.last_moment()?.map(|m| m.diagnostics);
        let errors = run.energy_error().map(|e| [e.last(), e.largest()]);
        let displacement = run.displacement();
        let doubts = self.recorder.warnings(ADVICE);
        let undefined = report::undefined(&self.recorder.undefined_columns()?);
        let notes = self.notes.iter().cloned();
        let notes: Vec<String> = notes.chain(run.energy_note()).chain(undefined).collect();
        if self.args.json {
            let warnings = run.problem().warnings().iter().cloned();
            let warnings: Vec<String> = warnings.chain(doubts).collect();
            let mut specification = report::with_start(spec, run.overrides());
            specification["n"] = n.into();
            specification["end"] = spec.time(spec.steps).into();
            let common = Common {
                specification,
                files: [self.recorder.written(), self.recorder.snapshots()].concat(),
                devices: report::device(&engine.device()),
                seconds,
                rate: Some(interactions / seconds),
                rate_unit: "interactions/s",
                errors: json!({
                    "energy": errors.map(|[last, _]| last),
                    "largest_energy": errors.map(|[_, largest]| largest),
                    "displacement": displacement.map(|found| found.relative),
                }),
                warnings,
                notes,
            };
            return report::json(&common.with(json!({
                "start": name,
                "bodies": n,
                "engine": engine.name(),
                "device": engine.device(),
                "steps": steps,
                "own_steps": own.map(|[taken, _]| taken),
                "interactions_per_second": interactions / seconds,
                "time": run.current().time,
                "start_energy": run.start_energy().map(|energies| energies.total()),
                "energy_error": errors.map(|[last, _]| last),
                "largest_energy_error": errors.map(|[_, largest]| largest),
                "diagnostics": last,
            })));
        }
        if self.args.quiet {
            return Ok(());
        }
        if self.args.format == OutputFormat::Textbook {
            for warning in &doubts {
                report::to_stderr(&format!("warning: {warning}"));
            }
            return Ok(());
        }
        let mut lines = Lines::default();
        lines.add(
            "start",
            &format!("{name}, {} bodies", report::grouped(n as u64)),
        );
        lines.add(
            "integration",
            &format!(
                "{} steps of {} by {}{}, {} solver, {}, softening {:?}, G = {:?}{}",
                report::grouped(steps),
                spec.dt,
                spec.integrator,
                own.map_or(String::new(), |[taken, _]| format!(
                    " in {} of their own",
                    report::grouped(taken)
                )),
                spec.solver,
                spec.precision,
                spec.softening,
                spec.g,
                spec.units
                    .map_or(String::new(), |units| format!(" ({units})"))
            ),
        );
        lines.add("engine", &format!("{}: {}", engine.name(), engine.device()));
        lines.add(
            "time",
            &format!(
                "{}, {:.3e} interactions/s",
                report::time(seconds),
                interactions / seconds
            ),
        );
        if let Some(energy) = run.energy_in_words() {
            lines.add("energy", &energy);
        }
        if let Some(found) = &displacement {
            let text = format!(
                "errors of the steps displace {}, others less",
                found.in_words(run.names())
            );
            lines.add("positions", &text);
        }
        // Warnings that were known before the run have been printed already.
        for warning in &doubts {
            lines.add("warning", warning);
        }
        for note in &notes {
            lines.add("note", note);
        }
        for path in self.recorder.written() {
            lines.add_whole("file", &path.display().to_string());
        }
        if let Some(folder) = &self.recorder.files.snapshots {
            lines.add_whole("folder", &folder.display().to_string());
        }
        report::to_stdout(lines.as_str())
    }
}
