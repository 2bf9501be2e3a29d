//! `trisolar nbody`: bodies that all pull each other, from a model, a file or a checkpoint to their last step.

mod options;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;
use trisolar::io::atomic::check_writable;
use trisolar::io::plot::{self, Division, LinePlot, Orbits, PlotAxis, Series, Trajectory};
use trisolar::nbody::files::{
    BodyFormat, Checkpoint, Textbook, write_bodies, write_series, write_trajectory,
};
use trisolar::nbody::{self, Diagnostics, Engine, Options, RunError, Snapshot, Validated};

pub(crate) use self::options::Args;
use self::options::{Format, Start};
use super::progress::Progress;
use super::report::{self, Lines};
use super::{Failure, interrupt};

/// Bodies up to which the summary finds energies without being asked to: more would take longer than the run.
const SUMMARY_ENERGY: usize = 20_000;
/// Bodies whose orbits are drawn at most.
const MOST_ORBITS: usize = 100;

/// Integrates and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let outputs = Outputs::new(args)?;
    let Start {
        problem,
        from,
        start_energy,
        name,
    } = args.start()?;
    if !args.quiet {
        for warning in problem.warnings() {
            report::to_stderr(&format!("warning: {warning}"));
        }
    }
    interrupt::watch()?;
    let options = Options {
        backend: args.backend,
        threads: args.threads,
        schedule: args.schedule,
        device: args.device,
        gpus: args.gpus,
    };
    let (engine, notes) = nbody::engine(&problem, &options).map_err(failed)?;
    let wants_energy = outputs.series.is_some()
        || outputs.energy_plot.is_some()
        || (args.format == Format::Summary && problem.bodies().len() <= SUMMARY_ENERGY);
    let mut record = Record {
        args,
        problem: &problem,
        outputs: &outputs,
        wants_energy,
        start_energy,
        series: Vec::new(),
        times: Vec::new(),
        positions: Vec::new(),
        last: from.clone(),
    };
    record.look(&from, from.step == 0)?;
    let every = args.every.unwrap_or(problem.specification().steps);
    let progress = Progress::new(&name, args.quiet);
    let began = Instant::now();
    let outcome = nbody::integrate(
        engine.as_ref(),
        &problem,
        &from,
        every,
        &progress,
        &mut |snapshot| {
            record.look(&snapshot, true)?;
            record.save(&snapshot)?;
            record.last = snapshot;
            Ok(())
        },
    );
    progress.finish();
    let seconds = began.elapsed().as_secs_f64();
    match outcome {
        Ok(()) => {}
        Err(RunError::Engine(error)) => return Err(failed(error)),
        Err(RunError::Observer(failure)) => return Err(failure),
    }
    record.write()?;
    let steps = problem.specification().steps - from.step;
    record.report(&name, engine.as_ref(), &notes, steps, seconds)
}

/// Engine errors with this command's hints.
fn failed(error: trisolar::divergence::EngineError) -> Failure {
    use trisolar::divergence::EngineError;
    match error {
        EngineError::OutOfMemory { .. } => {
            Failure::Failed(format!("{error}\nhint: fewer bodies (--n) need less"))
        }
        error => error.into(),
    }
}

/// The files to be written, their names checked.
struct Outputs {
    states: Vec<(PathBuf, BodyFormat)>,
    series: Option<PathBuf>,
    energy_plot: Option<PathBuf>,
    orbit_plot: Option<PathBuf>,
}

impl Outputs {
    fn new(args: &Args) -> Result<Self, Failure> {
        let bad = |path: &Path, option: &str, reason: &str| {
            Failure::value(&path.display().to_string(), option, reason)
        };
        let mut states = Vec::new();
        for path in &args.out {
            let format = BodyFormat::of(path).map_err(|reason| bad(path, "--out", reason))?;
            states.push((path.clone(), format));
        }
        let ends = |path: &Path, allowed: &[&str]| {
            path.extension()
                .and_then(|e| e.to_str())
                .is_some_and(|e| allowed.contains(&e))
        };
        if let Some(path) = args.series.as_ref().filter(|p| !ends(p, &["csv", "npz"])) {
            return Err(bad(path, "--series", "the name must end in .csv or .npz"));
        }
        for (option, path) in [
            ("--trajectory", &args.trajectory),
            ("--checkpoint", &args.checkpoint),
        ] {
            if let Some(path) = path.as_ref().filter(|p| !ends(p, &["npz"])) {
                return Err(bad(path, option, "the name must end in .npz"));
            }
        }
        let plot = |what: &str| {
            args.plots.as_ref().map(|prefix| {
                let mut name = prefix.clone().into_os_string();
                name.push(format!("-{what}.png"));
                PathBuf::from(name)
            })
        };
        let outputs = Self {
            states,
            series: args.series.clone(),
            energy_plot: plot("energy"),
            orbit_plot: plot("orbits"),
        };
        let others = [&args.trajectory, &args.checkpoint, &outputs.series];
        let plots = [&outputs.energy_plot, &outputs.orbit_plot];
        let states = outputs.states.iter().map(|(path, _)| path);
        for path in others.into_iter().chain(plots).flatten().chain(states) {
            check_writable(path)?;
        }
        Ok(outputs)
    }
}

/// What is seen on the way.
struct Record<'a> {
    args: &'a Args,
    problem: &'a Validated,
    outputs: &'a Outputs,
    wants_energy: bool,
    start_energy: Option<f64>,
    series: Vec<(u64, f64, Diagnostics)>,
    times: Vec<f64>,
    positions: Vec<Vec<[f64; 3]>>,
    last: Snapshot,
}

impl Record<'_> {
    /// Looks at the bodies; `print` them if the user wants to see states.
    fn look(&mut self, snapshot: &Snapshot, print: bool) -> Result<(), Failure> {
        let spec = self.problem.specification();
        if self.args.format == Format::Textbook {
            let last = snapshot.step == spec.steps;
            let regular = snapshot.step == 0
                || self
                    .args
                    .every
                    .is_none_or(|k| snapshot.step.is_multiple_of(k));
            if print && if self.args.final_only { last } else { regular } {
                let state = Textbook {
                    time: snapshot.time,
                    bodies: &snapshot.bodies,
                }
                .to_string();
                // `to_stdout` ends the last line itself.
                report::to_stdout(state.strip_suffix('\n').unwrap_or(&state))?;
            }
        }
        if self.wants_energy {
            let diagnostics = Diagnostics::of(&snapshot.bodies, spec.g, spec.softening);
            self.start_energy.get_or_insert(diagnostics.total);
            self.series
                .push((snapshot.step, snapshot.time, diagnostics));
        }
        if self.args.trajectory.is_some() || self.outputs.orbit_plot.is_some() {
            self.times.push(snapshot.time);
            self.positions.push(snapshot.bodies.position.clone());
        }
        Ok(())
    }

    /// Writes the checkpoint, if there is to be one.
    fn save(&self, snapshot: &Snapshot) -> Result<(), Failure> {
        let Some(path) = &self.args.checkpoint else {
            return Ok(());
        };
        let checkpoint = Checkpoint {
            specification: self.problem.specification().clone(),
            step: snapshot.step,
            start_energy: self.start_energy,
            bodies: snapshot.bodies.clone(),
        };
        Ok(checkpoint.write(path)?)
    }

    /// Writes all files of the end.
    fn write(&self) -> Result<(), Failure> {
        let spec = self.problem.specification();
        for (path, format) in &self.outputs.states {
            write_bodies(path, *format, &self.last, spec)?;
        }
        let start_energy = self.start_energy.unwrap_or(f64::NAN);
        if let Some(path) = &self.outputs.series {
            write_series(path, &self.series, start_energy, spec)?;
        }
        if let Some(path) = &self.args.trajectory {
            let mass = &self.problem.bodies().mass;
            write_trajectory(path, &self.times, &self.positions, mass, spec)?;
        }
        if let Some(path) = &self.outputs.energy_plot {
            self.draw_energy(path)?;
        }
        if let Some(path) = &self.outputs.orbit_plot {
            self.draw_orbits(path)?;
        }
        Ok(())
    }

    fn json_specification(&self) -> String {
        serde_json::to_string(self.problem.specification()).unwrap_or_default()
    }

    fn draw_energy(&self, path: &Path) -> Result<(), Failure> {
        let times: Vec<f64> = self.series.iter().map(|(_, time, _)| *time).collect();
        let errors: Vec<f64> = self.series.iter().map(|(.., d)| self.error(d)).collect();
        let axis = |name: &str, unit: &str| PlotAxis {
            name: name.into(),
            unit: unit.into(),
            division: Division::Linear,
            range: None,
        };
        let look = LinePlot {
            title: "Relative error of the total energy".into(),
            x: axis("time", ""),
            y: axis("(E - E0) / |E0|", ""),
            ..LinePlot::default()
        };
        let series = Series {
            name: self.problem.specification().integrator.name(),
            x: &times,
            y: &errors,
            error: None,
            marks: plot::Marks::Line,
        };
        Ok(plot::lines(
            path,
            &[series],
            &look,
            Some(&self.json_specification()),
        )?)
    }

    fn draw_orbits(&self, path: &Path) -> Result<(), Failure> {
        let n = self.last.bodies.len().min(MOST_ORBITS);
        let points: Vec<Vec<[f64; 3]>> = (0..n)
            .map(|i| self.positions.iter().map(|p| p[i]).collect())
            .collect();
        let names: Vec<String> = (0..n)
            .map(|i| {
                if n <= 12 {
                    format!("body {i}")
                } else {
                    String::new()
                }
            })
            .collect();
        let orbits: Vec<Trajectory<'_>> = points
            .iter()
            .zip(&names)
            .map(|(points, name)| Trajectory { name, points })
            .collect();
        Ok(plot::trajectories(
            path,
            &orbits,
            &Orbits::default(),
            Some(&self.json_specification()),
        )?)
    }

    /// Relative to the magnitude of the start's energy.
    fn error(&self, d: &Diagnostics) -> f64 {
        let start = self.start_energy.unwrap_or(f64::NAN);
        (d.total - start) / start.abs()
    }

    fn report(
        &self,
        name: &str,
        engine: &dyn Engine,
        notes: &[String],
        steps: u64,
        seconds: f64,
    ) -> Result<(), Failure> {
        let spec = self.problem.specification();
        let n = self.problem.bodies().len();
        let interactions =
            (n as f64).powi(2) * steps as f64 * f64::from(spec.integrator.accelerations());
        let last = self.series.last().map(|(.., d)| d);
        if self.args.json {
            return report::json(&json!({
                "start": name,
                "bodies": n,
                "specification": spec,
                "engine": engine.name(),
                "device": engine.device(),
                "steps": steps,
                "seconds": seconds,
                "interactions_per_second": interactions / seconds,
                "time": self.last.time,
                "start_energy": self.start_energy,
                "energy_error": last.map(|d| self.error(d)),
                "diagnostics": last,
                "notes": notes,
            }));
        }
        if self.args.quiet || self.args.format == Format::Textbook {
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
                "{} steps of {} by {}, {} solver, {}, softening {:?}, G = {:?}",
                report::grouped(steps),
                spec.dt,
                spec.integrator,
                spec.solver,
                spec.precision,
                spec.softening,
                spec.g
            ),
        );
        lines.add("engine", &format!("{}: {}", engine.name(), engine.device()));
        lines.add(
            "time",
            &format!(
                "{}, {:.3e} interactions/s",
                report::seconds(seconds),
                interactions / seconds
            ),
        );
        if let Some(d) = last {
            lines.add(
                "energy",
                &format!(
                    "{:.12e} at t = {}, error {:+.3e}",
                    d.total,
                    self.last.time,
                    self.error(d)
                ),
            );
        }
        for note in notes {
            lines.add("note", note);
        }
        let states = self.outputs.states.iter().map(|(path, _)| path);
        let others = [
            &self.outputs.series,
            &self.args.trajectory,
            &self.outputs.energy_plot,
            &self.outputs.orbit_plot,
            &self.args.checkpoint,
        ];
        for path in states.chain(others.into_iter().flatten()) {
            lines.add_whole("file", &path.display().to_string());
        }
        report::to_stdout(lines.as_str())
    }
}
