//! `trisolar nbody`: integrates bodies that all attract each other, from a model, a file or a checkpoint to the last step.

mod compared;
mod options;
mod overrides;
mod report;

use std::any::Any;
use std::path::Path;

use trisolar::accuracy;
use trisolar::divergence::EngineError;
use trisolar::gpu::Stopwatch;
use trisolar::nbody::files::{Moment, Textbook};
use trisolar::nbody::{
    self, BitOptions, Bodies, EnergyLooks, Integrator, NbodyRun, Options, Overrides,
    OverridesError, Partials, PreparedNbody, RunOptionsOfCheckpoint, Snapshot, Validated, Watch,
};
use trisolar::run::{Monitor, Workers};
use trisolar::spec::Parameters as _;
use trisolar::time_run::files::OUTPUT;
use trisolar::time_run::{Error, Observer};

pub(crate) use self::options::Args;
use self::options::OutputFormat;
use self::report::Report;
use super::cpu_args::warn_of_one_lane;
use super::explore::live::{self, Live};
use super::progress::Progress;
use super::ranks::Communicator;
use super::resume::{Resumed, Typed, plain, with_paths};
use super::{Failure, config, interrupt, report as out, time_run};

/// Integrates and reports.
pub(crate) fn run(args: Args, typed: &Typed) -> Result<(), Failure> {
    let communicator = Communicator::join()?;
    Workers::limit_process(communicator.threads(args.cpu.threads));
    let result = run_as(args, typed, &communicator);
    communicator.end(result)
}

fn run_as(mut args: Args, typed: &Typed, communicator: &Communicator) -> Result<(), Failure> {
    if let Some(all) = args.given()?.compared().filter(|_| args.resume.is_none()) {
        if communicator.size() > 1 {
            let reason =
                "several integrators are compared in one process; start the program without mpirun";
            return Err(Failure::BadInput(format!("--integrator: {reason}")));
        }
        let options = asked(&args, communicator);
        options.check()?;
        return compared::run(&args, all, &options);
    }
    // Rank 0 reads and sends the result to the others.
    let mut read = None;
    let bytes = communicator.share(|| {
        let prepared = prepare(&mut args, typed, communicator)?;
        let bytes = match communicator.size() {
            1 => Vec::new(),
            _ => prepared.to_bytes(),
        };
        read = Some(prepared);
        Ok(bytes)
    })?;
    interrupt::watch()?;
    let leads = read.is_some();
    let prepared = match read {
        Some(prepared) => prepared,
        None => PreparedNbody::from_bytes(&bytes)?,
    };
    let options = prepared.bits.over(asked(&args, communicator));
    let engine = match communicator.ranks() {
        Some(ranks) => nbody::engine_on_ranks(&prepared.problem, &options, ranks)
            .map_err(|error| communicator.here(error).unwrap_or_else(failed)),
        None => nbody::engine(&prepared.problem, &options).map_err(failed),
    };
    let (engine, of_engine) = engine?;
    let engine = engine.as_ref();
    let name = prepared.name.clone();
    let progress = Progress::new(&name, args.quiet || !leads);
    let spec = prepared.problem.specification().clone();
    let energies = |bodies: &Bodies| {
        let (threads, simd) = (args.cpu.threads, args.cpu.simd());
        accuracy::energies(bodies, &spec, engine, threads, simd)
    };
    let watch = Watch {
        energies: &energies,
        reports_energy: !args.quiet || args.json,
        reports_diagnostics: args.format == OutputFormat::Summary,
        is_live: args.live.is_on(),
        monitor: &progress,
    };
    if !leads {
        let (mut recorder, _) = prepared.start(engine, &options, watch).map_err(ended)?;
        return recorder.run(&mut ()).map_err(|error| match error {
            Error::Engine(error) => failed(error),
            // Rank 0 reports it.
            _ => Failure::Elsewhere(1),
        });
    }
    let about = live::about_nbody(&name, &engine.device(), &prepared.problem);
    let live = args.live.show(about)?;
    let mut notes = prepared.problem.notes().to_vec();
    let from = prepared.from.step;
    let (mut recorder, more) = prepared.start(engine, &options, watch).map_err(ended)?;
    notes.extend(more);
    notes.extend(of_engine);
    let mut beside = Beside {
        args: &args,
        live,
        every: recorder.stops.every as u64,
    };
    beside.show(&recorder.run);
    let began = Stopwatch::start();
    let outcome = time_run::run(&mut recorder, &mut beside, true, args.quiet);
    progress.finish();
    outcome.map_err(ended)?;
    beside.live.finish();
    let report = Report {
        args: &args,
        recorder: &recorder,
        name: &name,
        notes,
        steps: spec.steps - from,
        seconds: began.elapsed().as_secs_f64(),
    };
    report.print()?;
    recorder
        .check(recorder.run.overrides().max_error)
        .map_err(ended)
}

/// What is printed and shown beside a run.
struct Beside<'a> {
    args: &'a Args,
    live: Live,
    /// Number of steps between records.
    every: u64,
}

impl Beside<'_> {
    fn show(&mut self, run: &NbodyRun<'_>) {
        (self.live).show_bodies(run.current(), run.problem().specification());
    }
}

impl<'r> Observer<NbodyRun<'r>> for Beside<'_> {
    fn paused(&mut self, run: &mut NbodyRun<'r>) {
        if self.live.wants_cloud() {
            self.show(run);
        }
    }

    fn recorded(
        &mut self,
        run: &mut NbodyRun<'r>,
        _: f64,
        state: &Snapshot,
        _: Option<&Moment>,
    ) -> Result<(), Error> {
        let Snapshot { step, time, bodies } = state;
        let last = *step == run.problem().specification().steps;
        if last || self.live.wants_cloud() {
            self.show(run);
        }
        let regular = step.is_multiple_of(self.every) || self.args.every.is_none();
        let prints = if self.args.final_only { last } else { regular };
        if self.args.format != OutputFormat::Textbook || !prints {
            return Ok(());
        }
        let text = Textbook {
            time: *time,
            bodies,
        };
        let text = text.to_string();
        // `to_stdout` adds the end of the last line.
        Ok(out::to_stdout(text.strip_suffix('\n').unwrap_or(&text))?)
    }

    fn patience(&self) -> Box<dyn Any> {
        time_run::patience()
    }

    fn film(&self) -> Box<dyn Monitor> {
        time_run::film(self.args.quiet)
    }
}

/// The options of the computation on the command line.
fn asked(args: &Args, communicator: &Communicator) -> Options {
    Options {
        backend: args.backend,
        threads: communicator.threads(args.cpu.threads),
        simd: args.cpu.simd(),
        schedule: args.schedule,
        partials: args.partials,
        device: args.device,
        gpus: args.gpus,
    }
}

/// The run from its start or checkpoint, with checked options.
fn prepare(
    args: &mut Args,
    typed: &Typed,
    communicator: &Communicator,
) -> Result<PreparedNbody, Failure> {
    asked(args, communicator).check()?;
    let mut prepared = match args.resume.clone() {
        Some(path) => resume(args, typed, &path, communicator)?,
        None => begin(args, typed, communicator)?,
    };
    prepared.checks_steps = args.checks_steps(&prepared.overrides);
    // Its user may have changed that of a resumed run since.
    let config = prepared.files.save_config.as_ref();
    if let Some(path) = config.filter(|path| args.resume.is_none() || !path.exists()) {
        config::save_options(path, "nbody", &prepared.overrides)?;
    }
    warn(args, &prepared.problem);
    Ok(prepared)
}

/// A new run.
fn begin(
    args: &mut Args,
    typed: &Typed,
    communicator: &Communicator,
) -> Result<PreparedNbody, Failure> {
    if let Some(folder) = args.shown_in(typed) {
        args.files.plots = Some(folder);
    }
    let inputs = [
        ("--config", args.config.as_deref()),
        ("--input", args.overrides.values.input.as_deref()),
    ];
    let mut prepared = PreparedNbody::new(args.files(), args.every, &inputs, || args.start())?;
    if let Some(record) = &mut prepared.record {
        record.extend(OUTPUT, "final_only", args.final_only);
        record.extend(OUTPUT, "format", args.format.name());
    }
    // Ranks keep partial sums of rows.
    prepared.bits.partials = match communicator.size() {
        1 => args.partials,
        _ => Partials::Rows,
    };
    Ok(prepared)
}

/// A resumed run, with all options with which it began.
fn resume(
    args: &mut Args,
    typed: &Typed,
    path: &Path,
    communicator: &Communicator,
) -> Result<PreparedNbody, Failure> {
    let RunOptionsOfCheckpoint {
        overrides,
        files,
        bits,
        every,
        record,
    } = PreparedNbody::options(path)?;
    let mut has = with_paths(&overrides);
    has.append(&mut with_paths(&files));
    has.append(&mut plain(&bits));
    has.insert("every".into(), every.into());
    let printed = ["final_only", "format"].map(|name| (name, record.value(OUTPUT, name).cloned()));
    for (name, value) in printed.clone() {
        has.insert(name.into(), value.unwrap_or_default());
    }
    let mut here = with_paths(&args.overrides.values);
    here.append(&mut with_paths(&args.files()));
    here.append(&mut plain(&BitOptions {
        partials: args.partials,
        threads: args.cpu.threads,
        schedule: Some(args.schedule),
        backend: Some(args.backend),
    }));
    here.insert("every".into(), args.every.into());
    here.insert("final_only".into(), args.final_only.into());
    here.insert("format".into(), args.format.name().into());
    typed.refuse_others(&Resumed {
        file: path,
        has,
        given: here,
        extends: &["steps", "end"],
        elsewhere: &["max_error"],
    })?;
    if communicator.size() > 1 && bits.partials == Partials::Threads {
        let reason = format!(
            "the run of {} has --partials threads, which works in one process only; start it without mpirun",
            path.display()
        );
        return Err(Failure::BadInput(reason));
    }
    let [(_, final_only), (_, format)] = printed;
    args.final_only = final_only.and_then(|v| v.as_bool()).unwrap_or_default();
    args.format = match format.as_ref().and_then(|v| v.as_str()) {
        Some("textbook") => OutputFormat::Textbook,
        _ => OutputFormat::Summary,
    };
    args.every = record.value(OUTPUT, "every").and_then(|n| n.as_u64());
    Ok(PreparedNbody::resume(path, &args.overrides.values)?)
}

impl Args {
    /// Whether the displacements by the errors of the steps are reported or limited.
    fn checks_steps(&self, overrides: &Overrides) -> bool {
        let reported = !self.quiet || self.json || overrides.max_error.is_some();
        reported && overrides.energy != Some(EnergyLooks::Never)
    }

    /// The values of the options and of the configuration file.
    fn given(&self) -> Result<Overrides, Failure> {
        let here = self.overrides.values.clone();
        Ok(match &self.config {
            Some(path) => here.merged_over(overrides::load(path)?),
            None => here,
        })
    }

    /// The start from the options and the configuration file.
    fn start(&self) -> Result<(Validated, Overrides), Failure> {
        self.problem(self.given()?)
    }

    /// The start of these values.
    fn problem(&self, mut overrides: Overrides) -> Result<(Validated, Overrides), Failure> {
        let here = &self.overrides.values;
        if self.format == OutputFormat::Textbook {
            overrides
                .integrator
                .get_or_insert(Integrator::ExplicitEuler.into());
        }
        let place = |option: &str| match &self.config {
            Some(path) if !here.has(option) => {
                format!("{} in {}", option.replace('-', "_"), path.display())
            }
            _ => format!("--{option}"),
        };
        overrides.problem().map_err(|error| match error {
            OverridesError::Value {
                option,
                given,
                allowed,
            } => Failure::value(&given, &place(option), &allowed),
            error => Failure::BadInput(error.to_string()),
        })
    }
}

fn warn(args: &Args, problem: &Validated) {
    if !args.quiet {
        for warning in problem.warnings() {
            out::to_stderr(&format!("warning: {warning}"));
        }
        warn_of_one_lane(args.backend);
        // The summary and the JSON object contain them, but that may be too late.
        if !problem.warnings().is_empty() || args.format == OutputFormat::Textbook {
            for note in problem.notes() {
                out::to_stderr(&format!("note: {note}"));
            }
        }
    }
}

fn ended(error: Error) -> Failure {
    match error {
        Error::Engine(error) => failed(error),
        error => error.into(),
    }
}

/// Engine errors with this command's hints.
fn failed(error: EngineError) -> Failure {
    match error {
        EngineError::OutOfMemory { .. } => {
            Failure::Failed(format!("{error}\nhint: use fewer bodies (--n)"))
        }
        error => error.into(),
    }
}
