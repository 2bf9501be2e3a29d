//! N-body runs that are recorded.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{BodyFormat, Checkpoint, History, Moment, columns, write_bodies};
use super::run::{RunError, advance};
use super::{
    Bodies, Diagnostics, Energies, EnergyLooks, Engine, LowerParts, MIN_BODIES_FOR_THREADS, Method,
    Options, Overrides, OverridesError, Partials, Precision, Run, Schedule, Snapshot,
    Specification, StepCheck, Validated,
};
use trisolar_bodies::{
    ColumnDensity, DVec3, Displacement, Displacements, EnergyError, most_times, no_energy, numbers,
    vectors,
};
use trisolar_io::atomic::directory_of;
use trisolar_io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series};
use trisolar_io::read::in_words;
use trisolar_io::{older, system};
use trisolar_run::{Backend, Claim, EngineError, Monitor, Paths, Record, machine};
use trisolar_time_run::Column;
use trisolar_time_run::files::OUTPUT;
use trisolar_time_run::pictures::{ENERGY_ERROR, INNER, MAX_DRAWN, MAX_NAMED, Scene};
use trisolar_time_run::stops::{Between, Stops, paths_per_record};
use trisolar_time_run::{Error, Files, Recorder, TimeRun, packed, unpacked};

/// Groups of options in a checkpoint.
const START: &str = "start";
const COMPUTATION: &str = "computation";
/// Default number of records of a run with files over time.
const DEFAULT_RECORDS: u64 = 1000;
/// Number of bodies up to which a report has all diagnostics of every record. For more bodies it has the energies at the start and at
/// the end.
const MAX_BODIES_FOR_DIAGNOSTICS: usize = 20_000;
/// Pairs between two pauses for a checkpoint: about a second of a core.
const PAIRS_PER_PAUSE: u64 = 1_000_000_000;
/// Pairs between two pauses for a picture of a run that is shown, on a CPU and on a GPU: some milliseconds.
const LIVE_PAIRS_PER_PAUSE: [u64; 2] = [4_000_000, 4_000_000_000];
/// Bytes of the diagnostics of a record, as numbers and as the text of a CSV file.
const BYTES_OF_DIAGNOSTICS: [f64; 2] = [168.0, 460.0];
/// The share of free memory or space that records may use.
const SHARE_TO_USE: f64 = 0.9;
/// Bytes of a state of a path: the state, that in a checkpoint, and the points that are drawn.
const BYTES_OF_STATE: f64 = 200.0;

impl From<OverridesError> for Error {
    fn from(error: OverridesError) -> Self {
        match error {
            OverridesError::Value {
                option,
                given,
                allowed,
            } => Self::value(&given, &format!("--{option}"), allowed),
            error => Self::Input(error.to_string()),
        }
    }
}

/// The options of the computation on which the last bits depend, and which a checkpoint therefore keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BitOptions {
    /// The last bits of the reduced solver on a CPU always depend on it.
    pub partials: Partials,
    /// Kept only for partial sums of threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Kept only for partial sums of threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// `cpu` or `gpu`; kept for partial sums of threads, and for all precisions except f64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
}

impl Paths for BitOptions {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        Vec::new()
    }
}

impl BitOptions {
    /// The options of a new run, for the engine that was selected.
    fn of(options: &Options, spec: &Specification, bodies: usize, engine: &str) -> Self {
        let engine = match engine {
            "cpu" => Backend::Cpu,
            _ => Backend::Gpu,
        };
        let by_threads = options.partials == Partials::Threads;
        let threads = || match options.threads {
            None if bodies < MIN_BODIES_FOR_THREADS => 1,
            given => given.unwrap_or_else(machine::threads),
        };
        Self {
            partials: options.partials,
            threads: by_threads.then(threads),
            schedule: by_threads.then_some(options.schedule),
            backend: (by_threads || spec.precision != Precision::F64).then_some(engine),
        }
    }

    /// `options` with these values.
    pub fn over(&self, options: Options) -> Options {
        Options {
            partials: self.partials,
            threads: self.threads.or(options.threads),
            schedule: self.schedule.unwrap_or(options.schedule),
            backend: self.backend.unwrap_or(options.backend),
            ..options
        }
    }
}

/// The options of the run of a checkpoint.
#[derive(Clone, Debug)]
pub struct RunOptionsOfCheckpoint {
    /// Start and integration.
    pub overrides: Overrides,
    /// Its files.
    pub files: Files,
    /// Those of the computation.
    pub bits: BitOptions,
    /// Number of steps between records that the user gave.
    pub every: Option<u64>,
    /// The record, with all options.
    pub record: Record,
}

/// A new or resumed run that has not started.
#[derive(Debug)]
pub struct PreparedNbody {
    /// Its bodies and their specification.
    pub problem: Validated,
    /// The state from which it goes on.
    pub from: Snapshot,
    /// Its start in words.
    pub name: String,
    /// All its values, given or default.
    pub overrides: Overrides,
    /// Its files.
    pub files: Files,
    /// The options on which the last bits depend.
    pub bits: BitOptions,
    /// Whether the steps are checked, in which all ranks take part.
    pub checks_steps: bool,
    /// Notes about the files.
    pub notes: Vec<String>,
    /// The lower parts of pairs, which `f64` numbers cannot hold.
    lower: Option<LowerParts>,
    start_energy: Option<Energies>,
    history: History,
    /// Number of steps between two records, which follows from the options and does not change when the run is extended. `None` for
    /// records at the start and at the end only.
    spacing: Option<u64>,
    /// The record in the checkpoint.
    pub record: Option<Record>,
    /// Keeps the outputs locked; none on other ranks.
    claim: Option<Claim>,
    /// The step of the last record, and the number of records.
    recorded: (Option<f64>, usize),
    /// Whether the last snapshot is missing: the checkpoint that knows of it is written before it.
    again: bool,
}

/// The first state of a problem.
fn first(problem: &Validated) -> Snapshot {
    Snapshot {
        step: 0,
        time: problem.specification().time(0),
        bodies: problem.bodies().clone(),
    }
}

/// The number of steps (at least 1) that take as long as this number of pairs.
fn steps_of(pairs: u64, problem: &Validated) -> u64 {
    let n = problem.bodies().len() as u64;
    // A step takes at least some hundred cycles, even for two bodies.
    let step = (n * n).max(256) * u64::from(problem.specification().integrator.evaluations());
    (pairs / step).max(1)
}

impl PreparedNbody {
    /// A new run of this start, recorded every so many steps. `inputs` are files that it reads, with their options.
    ///
    /// # Errors
    /// [`Error`]; `start` may fail with any.
    pub fn new<E: From<Error>>(
        files: Files,
        every: Option<u64>,
        inputs: &[(&str, Option<&Path>)],
        start: impl FnOnce() -> Result<(Validated, Overrides), E>,
    ) -> Result<Self, E> {
        let claim = files.claim(inputs)?;
        let mut record = files.record(NbodyRun::COMMAND, NbodyRun::PICTURES)?;
        let (problem, overrides) = start()?;
        let spec = problem.specification();
        let integrator = spec.integrator;
        if let Some(path) = (files.checkpoint.as_ref()).filter(|_| integrator.is_multistep()) {
            let reason = format!(
                "{integrator} continues from earlier steps, which a checkpoint does not hold; \
                 only runs of one-step integrators can have checkpoints"
            );
            return Err(Error::value(&path.display(), "--checkpoint", reason).into());
        }
        let over_time = files.series.is_some()
            || files.snapshots.is_some()
            || files.trajectory.is_some()
            || files.want_paths();
        let usual = || over_time.then(|| spec.steps.div_ceil(DEFAULT_RECORDS));
        let spacing = every.or_else(usual);
        if let Some(record) = &mut record {
            record.set(START, &overrides).map_err(Error::from)?;
            record.extend(OUTPUT, "every", every);
            record.extend(OUTPUT, "spacing", spacing);
        }
        let prepared = Self {
            from: first(&problem),
            name: overrides.start_name(),
            problem,
            overrides,
            bits: BitOptions::default(),
            checks_steps: false,
            notes: Vec::new(),
            lower: None,
            start_energy: None,
            history: History::in_folder(&files.records_folder()),
            files,
            spacing,
            record,
            claim: Some(claim),
            recorded: (None, 0),
            again: false,
        };
        prepared.check_sizes()?;
        Ok(prepared)
    }

    /// The options of the run of a checkpoint.
    ///
    /// # Errors
    /// [`Error`].
    pub fn options(path: &Path) -> Result<RunOptionsOfCheckpoint, Error> {
        let (files, record) = Files::of_checkpoint(path, NbodyRun::COMMAND)?;
        let every = record.value(OUTPUT, "every").and_then(|n| n.as_u64());
        let spacing = || record.value(OUTPUT, "spacing").and_then(|n| n.as_u64());
        Ok(RunOptionsOfCheckpoint {
            overrides: record.get(START)?,
            files,
            bits: record.get(COMPUTATION)?,
            every: every.or_else(spacing),
            record,
        })
    }

    /// The run of a checkpoint, with all options with which it began; those that are `asked` may extend it and limit its errors.
    ///
    /// # Errors
    /// [`Error`].
    pub fn resume(path: &Path, asked: &Overrides) -> Result<Self, Error> {
        asked.check_max_error()?;
        let claim = Self::options(path)?.files.claim(&[])?;
        older::own(path);
        // A run that had the lock until now may have renewed it.
        let RunOptionsOfCheckpoint {
            mut overrides,
            files,
            bits,
            mut record,
            ..
        } = Self::options(path)?;
        let spacing = record.value(OUTPUT, "spacing").and_then(|n| n.as_u64());
        overrides.max_error = asked.max_error.or(overrides.max_error);
        let invalid = |e: &dyn std::fmt::Display| Error::Input(e.to_string());
        let Checkpoint {
            mut specification,
            step,
            start_energy,
            bodies,
            mut history,
        } = Checkpoint::read(path).map_err(|e| invalid(&e))?;
        let lower = Checkpoint::read_lower_parts(path).map_err(|e| invalid(&e))?;
        let stops = stops(&specification, &files, spacing, bodies.len());
        // An irregular step has a record only where the run ends.
        let regular = step % stops.every as u64 == 0;
        let mut has = match step {
            0 => !history.is_empty(),
            _ => regular || step == specification.steps,
        };
        let steps = match asked.end {
            Some(end) => Some(specification.steps_to(end).map_err(|e| invalid(&e))?),
            None => asked.steps,
        };
        if let Some(steps) = steps {
            if steps < step {
                let reason = format!("the checkpoint has {step} steps already");
                return Err(match asked.end {
                    Some(end) => Error::value(&end, "--end", reason),
                    None => Error::value(&steps, "--steps", reason),
                });
            }
            // The records of its former end are kept only if a run with the new length from the start would have them.
            if step == specification.steps && steps > step {
                if !(spacing.is_some() && regular) {
                    history.forget_last();
                    has = false;
                }
                if !step.is_multiple_of(track(&files, spacing, bodies.len())) {
                    history.tracks.forget(specification.time(step));
                }
            }
            specification.steps = steps;
        }
        let steps = specification.steps;
        let time = specification.time(step);
        let problem = specification.validate(bodies);
        let problem = problem.map_err(|e| Error::Input(format!("{}: {e}", path.display())))?;
        let before = step.div_ceil(stops.every as u64) as usize;
        let count = before + usize::from(has);
        let mut notes = files.go_on(&mut record, NbodyRun::PICTURES, (count, has))?;
        record.extend(START, "steps", steps);
        if step == steps {
            notes.push(format!(
                "the run has already ended, after {steps} steps; --steps extends it"
            ));
        }
        let prepared = Self {
            from: Snapshot {
                step,
                time,
                bodies: problem.bodies().clone(),
            },
            problem,
            name: path.display().to_string(),
            overrides,
            again: has && files.is_missing(count),
            files,
            bits,
            checks_steps: false,
            notes,
            lower,
            start_energy,
            history,
            spacing,
            record: Some(record),
            claim: Some(claim),
            recorded: (has.then_some(step as f64), count),
        };
        prepared.check_sizes()?;
        Ok(prepared)
    }

    /// Refuses records that do not fit on the disk, and paths that do not fit into memory.
    fn check_sizes(&self) -> Result<(), Error> {
        let (Some(every), files) = (self.spacing, &self.files) else {
            return Ok(());
        };
        let n = self.problem.bodies().len();
        let steps = self.problem.specification().steps;
        let records = (steps / every + 2) as f64;
        let refused = |needed: f64, there: f64, what: &str| {
            let reason = format!(
                "{} records would need {} of {what}, of which {} can be used; record every {:.0} steps or less often",
                steps / every + 1,
                in_words(needed as u64),
                in_words(there as u64),
                (every as f64 * needed / there.max(1.0)).ceil()
            );
            Err(Error::value(&every, "--every", reason))
        };
        let with_energy = files.series.is_some() || files.plots.is_some();
        let energy = self.overrides.energy != Some(EnergyLooks::Never);
        let diagnostics = match with_energy || (n <= MAX_BODIES_FOR_DIAGNOSTICS && energy) {
            true => BYTES_OF_DIAGNOSTICS,
            false => [0.0; 2],
        };
        let positions = match files.trajectory {
            Some(_) => 24.0 * n as f64 + 8.0,
            None => 0.0,
        };
        let kept = diagnostics[0] + positions;
        let file = |path: &Option<PathBuf>, bytes: f64| {
            let path = path.as_ref();
            path.map(|path| (directory_of(path), records * bytes))
        };
        let written = [
            file(&files.series, diagnostics[1]),
            file(&files.trajectory, positions),
            // The older one stays until the new one is complete.
            file(&files.checkpoint, 2.0 * kept),
            (files.snapshots.clone()).map(|folder| (folder, records * 56.0 * n as f64)),
            Some((files.records_folder(), records * kept)),
        ];
        let written: Vec<(PathBuf, f64)> = written.into_iter().flatten().collect();
        if let Some((folder, needed, there)) = system::lacking_space(&written) {
            let what = format!("space in {}", folder.display());
            return refused(needed, SHARE_TO_USE * there, &what);
        }
        let states = match track(files, self.spacing, n) {
            u64::MAX => 0.0,
            track => {
                let drawn = n.min(MAX_DRAWN);
                let times = (steps / track + 2).min(2 * most_times(drawn) as u64) as f64;
                times * drawn as f64 * BYTES_OF_STATE
            }
        };
        let available = SHARE_TO_USE * machine::available_memory() as f64;
        if available == 0.0 || states <= available {
            return Ok(());
        }
        refused(states, available, "memory for the paths of the bodies")
    }
}

/// Number of steps between states of which the paths of `n` bodies are drawn: several from record to record if the bodies are few.
fn track(files: &Files, spacing: Option<u64>, n: usize) -> u64 {
    match spacing {
        Some(every) if files.want_paths() => (every / paths_per_record(n)).max(1),
        _ => u64::MAX,
    }
}

fn stops(spec: &Specification, files: &Files, spacing: Option<u64>, n: usize) -> Stops {
    let multiples = match track(files, spacing, n) {
        u64::MAX => f64::INFINITY,
        track => track as f64,
    };
    Stops {
        every: spacing.unwrap_or(spec.steps).max(1) as f64,
        end: spec.steps as f64,
        between: Between::Multiples(multiples),
    }
}

/// What is evaluated beside a run, and when it pauses.
pub struct Watch<'a> {
    /// The energies of bodies, if there are too many for [`Diagnostics`].
    pub energies: &'a dyn Fn(&Bodies) -> Result<Energies, EngineError>,
    /// Whether the energy error is reported. It is also evaluated for a limit and for a checkpoint.
    pub reports_energy: bool,
    /// Whether all diagnostics of each record are reported, if the bodies are not too many.
    pub reports_diagnostics: bool,
    /// Whether the run pauses often enough to be shown.
    pub is_live: bool,
    /// Watches and ends the run.
    pub monitor: &'a dyn Monitor,
}

/// The errors of the energy of a run over time.
#[derive(Clone, Debug)]
pub struct EnergyErrors {
    /// How it was integrated.
    pub method: Method,
    /// Times.
    pub times: Vec<f64>,
    /// Sizes of the relative errors.
    pub sizes: Vec<f64>,
}

/// An N-body run that is recorded. Its own clock counts steps.
pub struct NbodyRun<'a> {
    engine: &'a dyn Engine,
    problem: Validated,
    overrides: Overrides,
    monitor: &'a dyn Monitor,
    run: Option<Box<dyn Run + 'a>>,
    current: Snapshot,
    /// The state that checkpoints have: all earlier records have been made.
    kept: (Snapshot, Option<LowerParts>),
    /// Number of steps between pauses, which does not depend on the clock, so that all ranks pause together.
    pause: u64,
    /// The step of the last pause.
    paused: u64,
    is_cancelled: bool,
    check: Option<StepCheck>,
    energies: &'a dyn Fn(&Bodies) -> Result<Energies, EngineError>,
    /// Whether all diagnostics of each record are evaluated.
    wants_diagnostics: bool,
    /// Whether the energy is evaluated at the start and at the end.
    wants_energy: bool,
    error: Option<EnergyError>,
    start_energy: Option<Energies>,
    /// The latest energy.
    energy: f64,
    /// The reason why it is not known.
    unknown: Option<String>,
}

impl PreparedNbody {
    /// Starts the run on an engine. The notes tell what is not checked.
    ///
    /// # Errors
    /// The engine's.
    pub fn start<'a>(
        mut self,
        engine: &'a dyn Engine,
        options: &Options,
        watch: Watch<'a>,
    ) -> Result<(Recorder<NbodyRun<'a>>, Vec<String>), Error> {
        let (problem, from, bodies) = (&self.problem, &self.from, self.problem.bodies());
        if let Some(record) = self.record.as_mut().filter(|_| from.step == 0) {
            let spec = problem.specification();
            let bits = BitOptions::of(options, spec, bodies.len(), engine.name());
            record.set(COMPUTATION, &bits)?;
        }
        let mut notes = self.notes;
        let mut check = match self.checks_steps {
            true => StepCheck::of(problem, from.step),
            false => None,
        };
        if self.checks_steps
            && Displacements::are_needed(bodies)
            && Displacements::of(bodies).is_none()
        {
            notes.push(Displacements::TOO_MANY.into());
        }
        if check.is_some() && from.step > 0 {
            let reason = "the positions before it were checked by the run that computed them";
            notes.push(format!("resumed after {} steps: {reason}", from.step));
        }
        let looks = self.overrides.energy.unwrap_or_default();
        let never = looks == EnergyLooks::Never;
        let kept = self.files.checkpoint.is_some();
        let limited = self.overrides.max_error.is_some();
        let wants_energy = !never && (watch.reports_energy || limited || kept);
        let few = bodies.len() <= MAX_BODIES_FOR_DIAGNOSTICS;
        // Without an energy of the start there are no moments.
        let error = self.history.energy_error(self.start_energy)?;
        let run = engine.resume(problem, &from.bodies, self.lower.as_ref())?;
        if let Some(check) = &mut check {
            check.look(engine, &from.bodies, self.lower.clone(), watch.monitor)?;
        }
        let mut pause = match kept {
            true => steps_of(PAIRS_PER_PAUSE, problem),
            false => u64::MAX,
        };
        if watch.is_live {
            let pairs = LIVE_PAIRS_PER_PAUSE[usize::from(engine.name() == "gpu")];
            pause = pause.min(steps_of(pairs, problem));
        }
        let last = self.history.last_moment()?;
        let stops = stops(
            problem.specification(),
            &self.files,
            self.spacing,
            bodies.len(),
        );
        let run = NbodyRun {
            engine,
            monitor: watch.monitor,
            run: Some(run),
            current: self.from.clone(),
            pause,
            paused: self.from.step,
            is_cancelled: false,
            check,
            energies: watch.energies,
            // Rank 0 evaluates them.
            wants_diagnostics: self.claim.is_some()
                && (self.files.series.is_some()
                    || self.files.plots.is_some()
                    || (watch.reports_diagnostics && few && wants_energy)),
            wants_energy,
            error,
            start_energy: self.start_energy,
            energy: last.map_or(f64::NAN, |m| m.diagnostics.total),
            unknown: never.then(|| "--energy none".into()),
            kept: (self.from, self.lower),
            problem: self.problem,
            overrides: self.overrides,
        };
        let kept = (self.record, self.claim);
        let recorded = (self.recorded, self.again);
        let recorder = Recorder::new(run, self.files, self.history, stops, recorded, kept);
        Ok((recorder, notes))
    }
}

impl NbodyRun<'_> {
    /// The specification and the bodies of the start.
    pub fn problem(&self) -> &Validated {
        &self.problem
    }

    /// The engine.
    pub fn engine(&self) -> &dyn Engine {
        self.engine
    }

    /// All values of the run, given or default.
    pub fn overrides(&self) -> &Overrides {
        &self.overrides
    }

    /// The present state.
    pub fn current(&self) -> &Snapshot {
        &self.current
    }

    /// The energies at the start, if they are known.
    pub fn start_energy(&self) -> Option<Energies> {
        self.start_energy
    }

    /// The latest energy in words, with its error, if it is known.
    pub fn energy_in_words(&self) -> Option<String> {
        let error = self.energy_error()?;
        let [last, largest] = [error.last(), error.largest()];
        let on_the_way = match largest == last {
            true => String::new(),
            false => format!(", at most {largest:+.3e}"),
        };
        Some(format!(
            "{:.12e} at t = {}, error {last:+.3e}{on_the_way}",
            self.energy, self.current.time
        ))
    }

    /// A note, if the energy error is not known.
    pub fn energy_note(&self) -> Option<String> {
        let why = (self.unknown.as_ref()).filter(|_| self.energy_error().is_none())?;
        Some(format!("the energy error is not known: {why}"))
    }

    /// Evaluates the energy if it is due and the diagnostics do not contain it.
    fn look_at_energy(&mut self, state: &Snapshot) -> Result<(), Error> {
        let end = state.step == self.problem.specification().steps;
        let due = self.wants_energy && (end || self.error.is_none());
        if self.wants_diagnostics || !due || self.unknown.is_some() {
            return Ok(());
        }
        match (self.energies)(&state.bodies) {
            Ok(energies) => self.take(state, energies),
            Err(EngineError::Cancelled) => Err(EngineError::Cancelled.into()),
            // The run itself may succeed without it.
            Err(error) if self.overrides.max_error.is_none() => {
                self.unknown = Some(error.to_string());
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn take(&mut self, state: &Snapshot, energies: Energies) -> Result<(), Error> {
        self.energy = energies.total();
        if !self.energy.is_finite() {
            let when = format!("step {} (time {})", state.step, state.time);
            return Err(Error::Failed(no_energy(&when, self.energy, &state.bodies)));
        }
        let error = self.error.get_or_insert(EnergyError::new(energies));
        error.look(energies.internal);
        self.start_energy.get_or_insert(energies);
        Ok(())
    }

    /// The start, for titles.
    fn start_name(&self) -> String {
        let name = self.overrides.start_name();
        let name = Path::new(&name).file_name().unwrap_or_default();
        format!(
            "{}, {} bodies",
            name.to_string_lossy(),
            self.problem.bodies().len()
        )
    }

    fn units(&self) -> [String; 2] {
        let units = self.overrides.units().unwrap_or_default();
        units.map(String::from)
    }

    /// The errors of the energy in these records.
    ///
    /// # Errors
    /// [`Error`] if the records cannot be read again.
    pub fn errors(&self, history: &History) -> Result<EnergyErrors, Error> {
        let [times, sizes] = history.error_sizes()?;
        Ok(EnergyErrors {
            method: self.problem.specification().integrator,
            times,
            sizes,
        })
    }

    /// Draws errors of the energy, of this run and of others of the same start, as `energy` in the folder of pictures.
    ///
    /// # Errors
    /// [`Error`] if the picture cannot be written.
    pub fn draw_errors(&self, files: &Files, errors: &[EnergyErrors]) -> Result<(), Error> {
        let Some(path) = files.picture("energy") else {
            return Ok(());
        };
        // Without an error there is nothing that a logarithmic axis could show.
        let mut sizes = errors.iter().flat_map(|of| &of.sizes);
        let logarithmic = sizes.any(|e| e.is_finite() && *e > 0.0);
        let [_, time_unit] = self.units();
        let look = LinePlot {
            title: format!("{ENERGY_ERROR}, {}", self.start_name()),
            theme: files.theme,
            size: files.size,
            x: PlotAxis {
                name: "time".into(),
                unit: time_unit,
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
        let series = errors.iter().map(|of| Series {
            name: of.method.name(),
            x: &of.times,
            y: &of.sizes,
            error: None,
            marks: Marks::Line,
        });
        let series: Vec<Series<'_>> = series.collect();
        Ok(plot::lines(
            path,
            &series,
            &look,
            Some(&self.specification()),
        )?)
    }

    /// The steps of their own length that were taken and those that were tried, by [`Method::Adaptive`].
    pub fn own_steps(&self) -> Option<[u64; 2]> {
        self.run.as_ref()?.own_steps()
    }

    /// The bodies as lower parts of pairs, if they have any.
    fn lower(&self) -> Option<LowerParts> {
        self.run.as_ref().and_then(|run| run.lower_parts())
    }

    /// Takes steps to the next pause, to the next look of the check, or to `to`.
    fn steps_to(&mut self, to: u64) -> Result<(), Error> {
        let monitor = self.monitor;
        let advanced: Result<_, RunError<Infallible>> = advance(
            (self.engine, &self.problem),
            &mut self.run,
            (&self.current, to),
            monitor,
        );
        self.current = advanced.map_err(|error| match error {
            RunError::Engine(error) => Error::Engine(error),
            error => Error::Failed(error.to_string()),
        })?;
        let lower = self.lower();
        if let Some(check) = self.check.as_mut().filter(|check| check.next_stop() == to) {
            check.look(self.engine, &self.current.bodies, lower, monitor)?;
        }
        Ok(())
    }
}

impl TimeRun for NbodyRun<'_> {
    type State = Snapshot;
    type Row = Moment;
    const COMMAND: &'static str = "nbody";
    const PICTURES: &'static [&'static str] = &["energy", "orbits", INNER];
    const SAVES_ROWS: bool = false;
    const OUTLIVES_FAILURES: bool = true;

    fn now(&self) -> f64 {
        self.current.step as f64
    }

    fn shown(&self, step: f64) -> f64 {
        self.problem.specification().time(step as u64)
    }

    fn place(&self) -> [String; 2] {
        let steps = self.problem.specification().steps;
        [format!("step {}", self.kept.0.step), steps.to_string()]
    }

    fn is_unfinished(&self, _: Option<f64>) -> bool {
        (1..self.problem.specification().steps).contains(&self.kept.0.step)
    }

    fn advance(&mut self, to: f64, _: &mut dyn FnMut(f64) -> bool) -> Result<bool, Error> {
        let to = to as u64;
        while self.current.step < to {
            let show = to.min(self.paused.saturating_add(self.pause));
            let next = (self.check.as_ref()).map_or(show, |check| show.min(check.next_stop()));
            match self.steps_to(next) {
                Err(Error::Engine(EngineError::Cancelled)) => {
                    self.is_cancelled = true;
                    return Ok(false);
                }
                done => done?,
            }
            if next < show {
                continue;
            }
            self.paused = next;
            if next < to {
                self.keep();
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_cancelled(&mut self) -> bool {
        self.is_cancelled
    }

    fn state(&mut self, _: f64) -> Result<Snapshot, Error> {
        Ok(self.current.clone())
    }

    fn row(&mut self, _: f64, state: &Snapshot) -> Result<Option<Moment>, Error> {
        if !self.wants_diagnostics {
            self.look_at_energy(state)?;
            return Ok(None);
        }
        let spec = self.problem.specification();
        let diagnostics = Diagnostics::of(&state.bodies, spec.g, spec.softening);
        self.take(state, (&diagnostics).into())?;
        Ok(Some(Moment {
            step: state.step,
            time: state.time,
            diagnostics,
        }))
    }

    fn resumed(&mut self, state: &Snapshot) -> Result<(), Error> {
        self.look_at_energy(state)
    }

    fn keep(&mut self) {
        self.kept = (self.current.clone(), self.lower());
    }

    fn columns(&self, history: &History) -> Result<Vec<Column<'static>>, Error> {
        Ok(columns(history)?)
    }

    fn checkpoint(
        &self,
        path: &Path,
        history: &mut History,
        record: Option<&Record>,
    ) -> Result<(), Error> {
        let (kept, lower) = &self.kept;
        let checkpoint = Checkpoint {
            specification: self.problem.specification().clone(),
            step: kept.step,
            start_energy: self.start_energy,
            bodies: kept.bodies.clone(),
            history: std::mem::take(history),
        };
        let written = checkpoint.write_with(path, lower.as_ref(), record);
        *history = checkpoint.history;
        Ok(written?)
    }

    fn write_state(&self, path: &Path, step: f64, state: &Snapshot) -> Result<(), Error> {
        let format = BodyFormat::of(path).map_err(|e| Error::value(&path.display(), "--out", e))?;
        // As the last state of a run that ends there, so that a snapshot does not depend on the length of this run.
        let specification = Specification {
            steps: step as u64,
            ..self.problem.specification().clone()
        };
        Ok(write_bodies(path, format, state, &specification)?)
    }

    fn specification(&self) -> String {
        serde_json::to_string(self.problem.specification()).unwrap_or_default()
    }

    fn names(&self) -> Option<&[String]> {
        self.problem.specification().names.as_deref()
    }

    fn masses(&self) -> Vec<f64> {
        self.problem.bodies().mass.clone()
    }

    fn paths(state: &Snapshot, n: usize) -> Vec<[DVec3; 3]> {
        // The polynomials between positions and velocities need no accelerations.
        let states = state.bodies.position.iter().zip(&state.bodies.velocity);
        let states = states.map(|(x, v)| [*x, *v, DVec3::NAN]);
        states.take(n).collect()
    }

    fn path_time(&self, step: f64) -> (f64, f64) {
        (self.shown(step), self.problem.specification().dt)
    }

    fn scene(&self, state: &Snapshot) -> Scene {
        let bodies = &state.bodies;
        let middle = bodies.middle();
        let away = |x: &DVec3| (*x - middle).abs().max_element();
        let all = 2.0 * bodies.position.iter().map(away).fold(0.0, f64::max);
        let many = bodies.len() > MAX_NAMED;
        let side = many.then(|| ColumnDensity::side_for(bodies, [middle.x, middle.y]));
        let side = side.filter(|side| all > 3.0 * side);
        Scene {
            title: self.start_name(),
            units: self.units(),
            bodies: bodies.len(),
            window: side.map(|side| (middle.to_array(), side)),
            is_flat: self.problem.specification().dimensions == 2,
        }
    }

    fn draw(&self, files: &Files, _: f64, _: &Snapshot, history: &History) -> Result<(), Error> {
        self.draw_errors(files, &[self.errors(history)?])
    }

    fn energy_error(&self) -> Option<EnergyError> {
        self.error.filter(|_| self.energy.is_finite())
    }

    fn displacement(&self) -> Option<Displacement> {
        self.check.as_ref().and_then(StepCheck::largest)
    }
}

/// The values of a start, besides its bodies, that the other ranks need.
#[derive(Serialize, Deserialize)]
struct StartHead {
    specification: Specification,
    step: u64,
    name: String,
    stops: (Option<u64>, bool, bool),
    bits: BitOptions,
    checks_steps: bool,
    /// Whether lower parts follow the bodies.
    lower: bool,
    recorded: (Option<f64>, usize),
}

impl PreparedNbody {
    /// As bytes for other processes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = StartHead {
            specification: self.problem.specification().clone(),
            step: self.from.step,
            name: self.name.clone(),
            stops: (
                self.spacing,
                self.files.want_paths(),
                self.files.checkpoint.is_some(),
            ),
            bits: self.bits.clone(),
            checks_steps: self.checks_steps,
            lower: self.lower.is_some(),
            recorded: self.recorded,
        };
        let bodies = &self.from.bodies;
        let vectors = [numbers(&bodies.position), numbers(&bodies.velocity)].concat();
        let lower = self.lower.iter();
        let lower = lower.flat_map(|lower| lower.position.iter().chain(&lower.velocity));
        let lower = lower.flatten().map(|number| f64::from(*number));
        packed(
            &head,
            bodies.mass.iter().copied().chain(vectors).chain(lower),
        )
    }

    /// Reads bytes that [`to_bytes`](Self::to_bytes) of the same program made. The run takes the same steps and writes nothing.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (head, numbers) = unpacked(bytes, |head: StartHead, numbers| {
            Some((head, numbers.collect::<Vec<f64>>()))
        })?;
        let n = numbers.len() / if head.lower { 13 } else { 7 };
        let (numbers, rest) = numbers.split_at(7 * n);
        let (lower, _) = rest.as_chunks::<3>();
        let lower: Vec<[f32; 3]> = lower.iter().map(|x| x.map(|x| x as f32)).collect();
        let lower = head.lower.then(|| LowerParts {
            position: lower[..n].to_vec(),
            velocity: lower[n..2 * n].to_vec(),
        });
        let vectors = vectors(&numbers[n..]);
        let bodies = Bodies {
            mass: numbers[..n].to_vec(),
            position: vectors[..n].to_vec(),
            velocity: vectors[n..].to_vec(),
        };
        let time = head.specification.time(head.step);
        let problem = head.specification.validate(bodies);
        let problem = problem.map_err(|e| Error::Failed(e.to_string()))?;
        let (spacing, paths, checkpoint) = head.stops;
        Ok(Self {
            from: Snapshot {
                step: head.step,
                time,
                bodies: problem.bodies().clone(),
            },
            problem,
            name: head.name,
            // Rank 0 evaluates the energy.
            overrides: Overrides {
                energy: Some(EnergyLooks::Never),
                ..Overrides::default()
            },
            files: Files {
                plots: paths.then(PathBuf::new),
                checkpoint: checkpoint.then(PathBuf::new),
                ..Files::default()
            },
            bits: head.bits,
            checks_steps: head.checks_steps,
            notes: Vec::new(),
            lower,
            start_energy: None,
            history: History::default(),
            spacing,
            record: None,
            claim: None,
            recorded: head.recorded,
            again: false,
        })
    }
}
