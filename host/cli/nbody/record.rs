//! Records a run and makes its outputs: printed states, files, plots and the summary.

use std::path::{Path, PathBuf};

use serde_json::json;
use trisolar::accuracy::Displacement;
use trisolar::bodies::{ColumnDensity, DVec3, Tracks};
use trisolar::io::atomic;
use trisolar::io::film::Film;
use trisolar::io::plot::{self, Division, LinePlot, Orbits, PlotAxis, Series, Trajectory, View};
use trisolar::nbody::files::{BodyFormat, Checkpoint, History, Moment, Textbook, write_bodies};
use trisolar::nbody::{
    self, Diagnostics, Energies, Engine, LowerParts, Overrides, Snapshot, Validated,
};
use trisolar::run::{self, Renewal};

use super::super::plots;
use super::super::report::{self, Common, Lines};
use super::super::{Failure, interrupt};
use super::energy::{self, Energy};
use super::options::{Args, OutputFormat};
use super::outputs::Outputs;
use super::plan;

/// The records of a run.
pub(super) struct Record<'a> {
    pub args: &'a Args,
    /// All values of the run, given or default.
    pub overrides: &'a Overrides,
    pub problem: &'a Validated,
    pub outputs: &'a Outputs,
    pub wants_diagnostics: bool,
    pub energy: Energy<'a>,
    /// Number of steps between records.
    pub every: u64,
    /// Number of steps between states of paths.
    pub track: u64,
    pub start_energy: Option<Energies>,
    pub history: History,
    pub last: Snapshot,
    pub last_lower: Option<LowerParts>,
    /// The largest displacement of a body by the errors of the steps, at the end and if it is known.
    pub displacement: Option<Displacement>,
    /// The record of the run for the checkpoint, if one is requested.
    pub run: Option<run::Record>,
    /// Decides when a checkpoint is due.
    pub renewal: Renewal,
}

impl Record<'_> {
    /// Records the bodies at the start or at a regular step.
    pub(super) fn look(&mut self, snapshot: &Snapshot) -> Result<(), Failure> {
        if self.args.output.format == OutputFormat::Textbook {
            self.print(snapshot)?;
        }
        if let Some(path) = self.outputs.snapshot(snapshot.step, self.every) {
            // The checkpoint that is written before it does not have this record yet, so that a killed run writes it again.
            self.put(|record| {
                // As the last state of a run that ends there, so that it does not depend on the length of this run.
                let spec = nbody::Specification {
                    steps: snapshot.step,
                    ..record.problem.specification().clone()
                };
                Ok(write_bodies(&path, BodyFormat::Npz, snapshot, &spec)?)
            })?;
        }
        if self.wants_diagnostics {
            let spec = self.problem.specification();
            let diagnostics = Diagnostics::of(&snapshot.bodies, spec.g, spec.softening);
            self.energy.look(snapshot, &diagnostics)?;
            self.start_energy.get_or_insert((&diagnostics).into());
            self.history.add_moment(&Moment {
                step: snapshot.step,
                time: snapshot.time,
                diagnostics,
            })?;
        } else {
            self.look_at_energy(snapshot)?;
        }
        if self.outputs.want_positions() {
            self.history
                .add_positions(snapshot.time, &snapshot.bodies.position)?;
        }
        self.remember(snapshot);
        Ok(())
    }

    /// Records the states of the bodies whose paths are drawn.
    pub(super) fn remember(&mut self, snapshot: &Snapshot) {
        let Snapshot { step, time, bodies } = snapshot;
        if self.track == u64::MAX {
            return;
        }
        let drawn = bodies.len().min(plots::MAX_DRAWN_ORBITS);
        let tracks = &mut self.history.tracks;
        if tracks.times().is_empty() {
            *tracks = Tracks::new(drawn);
        }
        let regular = step.is_multiple_of(self.track * thinned(tracks, self.track, self.problem));
        let last = *step == self.problem.specification().steps;
        if last || regular {
            // The polynomials between positions and velocities need no accelerations.
            let states = bodies.position.iter().zip(&bodies.velocity);
            tracks.push(*time, states.map(|(x, v)| [*x, *v, DVec3::NAN]));
            tracks.thin();
        }
    }

    /// Evaluates the energy if it is due and the diagnostics do not contain it.
    pub(super) fn look_at_energy(&mut self, snapshot: &Snapshot) -> Result<(), Failure> {
        if !self.wants_diagnostics
            && self.energy.is_due(snapshot)
            && let Some(energies) = self.energy.evaluate(snapshot)?
        {
            self.start_energy.get_or_insert(energies);
        }
        Ok(())
    }

    fn print(&self, snapshot: &Snapshot) -> Result<(), Failure> {
        let last = snapshot.step == self.problem.specification().steps;
        let regular = snapshot.step.is_multiple_of(self.every) || self.args.output.every.is_none();
        if if self.args.output.final_only {
            last
        } else {
            regular
        } {
            let state = Textbook {
                time: snapshot.time,
                bodies: &snapshot.bodies,
            }
            .to_string();
            // `to_stdout` adds the end of the last line.
            report::to_stdout(state.strip_suffix('\n').unwrap_or(&state))?;
        }
        Ok(())
    }

    /// Stores the state of the run, and renews the checkpoint if it is due.
    pub(super) fn pause(
        &mut self,
        snapshot: Snapshot,
        lower: Option<LowerParts>,
    ) -> Result<(), Failure> {
        self.last = snapshot;
        self.last_lower = lower;
        // After the last step, all files are written anyway.
        let last = self.last.step == self.problem.specification().steps;
        if last || !self.renewal.is_due() {
            return Ok(());
        }
        self.save()
    }

    /// Writes the checkpoint and the series so far, if they are requested.
    pub(super) fn save(&mut self) -> Result<(), Failure> {
        let _busy = interrupt::patient();
        let mut renewal = std::mem::take(&mut self.renewal);
        let result = renewal.renew(|| self.put(Self::write_series));
        self.renewal = renewal;
        result
    }

    /// After an interruption, writes series, trajectory, plots and films of what was computed. Returns the paths.
    pub(super) fn finish_early(&mut self) -> Result<Vec<PathBuf>, Failure> {
        if self.history.len().max(self.history.tracks.times().len()) < 2 {
            return Ok(Vec::new());
        }
        let _busy = interrupt::patient();
        self.put(Self::write_recorded)?;
        let of_records = |(option, _): &(&str, &Path)| *option != "--out";
        let files = self.outputs.results().filter(of_records);
        Ok(files.map(|(_, path)| path.to_owned()).collect())
    }

    /// Writes all final files.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.put(Self::write_results)?;
        // The last checkpoint is then the same whether or not the run was interrupted.
        let news = self.run.as_mut().is_some_and(run::Record::settle);
        if news {
            self.write_checkpoint()
        } else {
            Ok(())
        }
    }

    /// Writes files, after their checksums have been stored in the checkpoint.
    fn put(&mut self, write: impl FnOnce(&Self) -> Result<(), Failure>) -> Result<(), Failure> {
        let ((), staged) = atomic::stage(|| write(self))?;
        if let Some(run) = &mut self.run {
            run.expect(&staged)?;
        }
        self.write_checkpoint()?;
        Ok(staged.commit()?)
    }

    /// Writes the checkpoint of the current state, if one is requested.
    pub(super) fn write_checkpoint(&mut self) -> Result<(), Failure> {
        let Some(path) = &self.outputs.checkpoint else {
            return Ok(());
        };
        let (step, steps) = (self.last.step, self.problem.specification().steps);
        if let Some(run) = &mut self.run {
            let progress = (1..steps).contains(&step);
            run.set_unfinished(progress.then(|| format!("step {step} of {steps}")));
        }
        let checkpoint = Checkpoint {
            specification: self.problem.specification().clone(),
            step: self.last.step,
            start_energy: self.start_energy,
            bodies: self.last.bodies.clone(),
            history: std::mem::take(&mut self.history),
        };
        let written = checkpoint.write_with(path, self.last_lower.as_ref(), self.run.as_ref());
        self.history = checkpoint.history;
        Ok(written?)
    }

    fn write_series(&self) -> Result<(), Failure> {
        if let Some(path) = &self.outputs.series {
            let spec = self.problem.specification();
            self.history.write_series(path, spec)?;
        }
        Ok(())
    }

    fn write_results(&self) -> Result<(), Failure> {
        let spec = self.problem.specification();
        for (path, format) in &self.outputs.states {
            write_bodies(path, *format, &self.last, spec)?;
        }
        self.write_recorded()
    }

    /// Writes everything that is made from the records.
    fn write_recorded(&self) -> Result<(), Failure> {
        let spec = self.problem.specification();
        self.write_series()?;
        if let Some(path) = &self.outputs.trajectory {
            let mass = &self.problem.bodies().mass;
            self.history.write_trajectory(path, mass, spec)?;
        }
        if let Some(path) = &self.outputs.energy_plot {
            self.draw_energy(path)?;
        }
        if let Some(path) = &self.outputs.orbit_plot {
            self.draw_orbits(path)?;
        }
        for film in &self.outputs.films {
            self.animate(film)?;
        }
        Ok(())
    }

    /// The files of the run.
    fn files(&self) -> Vec<PathBuf> {
        let step = self.problem.specification().steps;
        let snapshots = self.outputs.snapshots_to(step, self.every);
        let others = self.outputs.paths().map(Path::to_path_buf);
        others.chain(snapshots).collect()
    }

    fn json_specification(&self) -> String {
        serde_json::to_string(self.problem.specification()).unwrap_or_default()
    }

    fn draw_energy(&self, path: &Path) -> Result<(), Failure> {
        let [times, size] = self.history.error_sizes()?;
        // Without an error there is nothing that a logarithmic axis could show.
        let logarithmic = size.iter().any(|e| e.is_finite() && *e > 0.0);
        let [_, time_unit] = self.overrides.units().unwrap_or_default();
        let look = LinePlot {
            title: format!("{}, {}", plots::ENERGY_ERROR, self.start()),
            theme: self.args.output.theme,
            size: self.args.output.look.size,
            x: PlotAxis {
                name: "time".into(),
                unit: time_unit.into(),
                ..PlotAxis::default()
            },
            y: PlotAxis {
                name: "|ΔE/E₀|".into(),
                division: match logarithmic {
                    true => Division::Logarithmic,
                    false => Division::Linear,
                },
                ..PlotAxis::default()
            },
        };
        let series = Series {
            name: self.problem.specification().integrator.name(),
            x: &times,
            y: &size,
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

    /// The start and the number of bodies, for titles; without folders, so that a title does not depend on the working directory.
    fn start(&self) -> String {
        let name = self.overrides.start_name();
        let name = Path::new(&name).file_name().unwrap_or_default();
        let n = self.last.bodies.len();
        format!("{}, {n} bodies", name.to_string_lossy())
    }

    /// The middle and the side of a cube around most of many bodies, if a few are so far away that they would leave no room for the others.
    fn bulk(&self) -> Option<([f64; 3], f64)> {
        let bodies = &self.last.bodies;
        if bodies.len() <= plots::MAX_NAMED {
            return None;
        }
        let middle = bodies.middle();
        let side = ColumnDensity::side_for(bodies, [middle.x, middle.y]);
        let away = |x: &DVec3| (*x - middle).abs().max_element();
        let all = 2.0 * bodies.position.iter().map(away).fold(0.0, f64::max);
        (all > 3.0 * side).then(|| (middle.to_array(), side))
    }

    /// Calls `work` with the times and paths that are drawn, as a picture that stands `still` or in a film.
    fn with_orbits<T>(
        &self,
        still: bool,
        work: impl FnOnce(&[f64], &[Trajectory<'_>], &Orbits) -> T,
    ) -> T {
        let names = self.problem.specification().names.as_deref();
        let names = plots::body_names(names, self.last.bodies.len());
        let tracks = &self.history.tracks;
        let parts = (plan::MAX_TRACKS_PER_RECORD / plan::tracks_per_record(self.last.bodies.len()))
            as usize;
        let times = tracks.finer_times(parts);
        let (points, remark) = plots::points_of(tracks, parts, &names, still);
        let paths: Vec<Trajectory<'_>> = points
            .iter()
            .zip(&names)
            .map(|(points, name)| Trajectory { name, points })
            .collect();
        let [unit, time_unit] = self.overrides.units().unwrap_or_default();
        let orbits = Orbits {
            title: self.start() + &remark,
            unit: unit.into(),
            time_unit: time_unit.into(),
            theme: self.args.output.theme,
            times: match &times[..] {
                [first, .., last] => Some([*first, *last]),
                _ => None,
            },
            all: self.last.bodies.len(),
            size: self.args.output.look.size,
            window: self.bulk(),
        };
        work(&times, &paths, &orbits)
    }

    fn draw_orbits(&self, path: &Path) -> Result<(), Failure> {
        let spec = self.json_specification();
        Ok(self.with_orbits(true, |_, bodies, o| {
            plot::trajectories(path, bodies, o, Some(&spec))
        })?)
    }

    fn animate(&self, film: &Film) -> Result<(), Failure> {
        let usual = match self.problem.specification().dimensions {
            2 => View::Xy,
            _ => View::Space,
        };
        let view = self.args.output.view.unwrap_or(usual);
        let quiet = self.args.quiet;
        self.with_orbits(false, |times, bodies, o| {
            let look = &self.args.output.look;
            look.draw(film, (times, bodies), o, view, quiet)
        })
    }

    fn names(&self) -> Option<&[String]> {
        self.problem.specification().names.as_deref()
    }

    /// The warnings about the accuracy of the run.
    fn doubts(&self) -> impl Iterator<Item = String> {
        let displacement = self.displacement.as_ref();
        let displaced = displacement.and_then(|found| found.warning(self.names(), energy::ADVICE));
        self.energy.warning().into_iter().chain(displaced)
    }

    /// Fails if an error exceeds the user's limit.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.energy.check()?;
        let most = self.overrides.max_error;
        let checked = self
            .displacement
            .map(|found| found.check(most, self.names()));
        checked.unwrap_or(Ok(())).map_err(Failure::Failed)
    }

    pub(super) fn report(
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
            (n as f64).powi(2) * steps as f64 * f64::from(spec.integrator.evaluations());
        let last = self.history.last_moment()?.map(|m| m.diagnostics);
        let errors = self.energy.errors();
        let undefined = match &self.outputs.series {
            Some(_) => report::undefined(&self.history.undefined_columns()?),
            None => None,
        };
        let notes = notes
            .iter()
            .cloned()
            .chain(self.energy.note())
            .chain(undefined);
        let notes: Vec<String> = notes.collect();
        if self.args.json {
            let warnings = self.problem.warnings().iter().cloned();
            let warnings: Vec<String> = warnings.chain(self.doubts()).collect();
            let mut specification = report::with_start(spec, self.overrides);
            specification["n"] = n.into();
            specification["end"] = spec.time(spec.steps).into();
            let common = Common {
                specification,
                files: self.files(),
                devices: report::device(&engine.device()),
                seconds,
                rate: Some(interactions / seconds),
                rate_unit: "interactions/s",
                errors: json!({
                    "energy": errors.map(|[last, _]| last),
                    "largest_energy": errors.map(|[_, largest]| largest),
                    "displacement": self.displacement.map(|found| found.relative),
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
                "interactions_per_second": interactions / seconds,
                "time": self.last.time,
                "start_energy": self.start_energy.map(|energies| energies.total()),
                "energy_error": errors.map(|[last, _]| last),
                "largest_energy_error": errors.map(|[_, largest]| largest),
                "diagnostics": last,
            })));
        }
        if self.args.quiet {
            return Ok(());
        }
        if self.args.output.format == OutputFormat::Textbook {
            for warning in self.doubts() {
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
                report::time(seconds),
                interactions / seconds
            ),
        );
        if let Some(energy) = self.energy.in_words(self.last.time) {
            lines.add("energy", &energy);
        }
        if let Some(found) = &self.displacement {
            let text = format!(
                "errors of the steps displace {}, others less",
                found.in_words(self.names())
            );
            lines.add("positions", &text);
        }
        // Warnings that were known before the run have been printed already.
        for warning in self.doubts() {
            lines.add("warning", &warning);
        }
        for note in &notes {
            lines.add("note", note);
        }
        for path in self.outputs.paths() {
            lines.add_whole("file", &path.display().to_string());
        }
        if let Some(folder) = &self.outputs.snapshots {
            lines.add_whole("folder", &folder.display().to_string());
        }
        report::to_stdout(lines.as_str())
    }
}

/// The number of times that a path of bodies has been thinned by two, as a factor of the steps between its states.
fn thinned(tracks: &Tracks, track: u64, problem: &Validated) -> u64 {
    let [first, second, ..] = tracks.times()[..] else {
        return 1;
    };
    let steps = (second - first) / problem.specification().dt;
    (steps / track as f64).round().max(1.0) as u64
}
