//! `trisolar cluster`: a star cluster by Hermite integration, its diagnostics, snapshots and checkpoints.

use std::any::Any;
use std::path::Path;

use trisolar::gpu::Stopwatch;
use trisolar::hermite::{
    Binaries, CheckOptions, Cluster, ClusterRun, Counters, Line, OpenDevices, Overrides,
    OverridesError, PreparedCluster, Scheme, Star, Validated,
};
use trisolar::run::{Monitor, Workers};
use trisolar::spec::Parameters as _;
use trisolar::time_run::{Error, Observer};

use super::cpu_args::warn_of_one_lane;
use super::explore::live::{self, Live};
use super::progress::Progress;
use super::ranks::Communicator;
use super::resume::{Resumed, Typed, with_paths};
use super::{Failure, config, interrupt, report as out, time_run};

mod options;
mod report;

pub(crate) use options::Args;
use report::Report;

/// The advice for a large energy error.
const ADVICE: &str = "use a smaller --eta or a larger --softening";

/// Runs a cluster and reports.
pub(crate) fn run(args: Args, typed: &Typed) -> Result<(), Failure> {
    let communicator = Communicator::join()?;
    Workers::limit_process(communicator.threads(args.cpu.threads));
    let result = run_as(&args, typed, &communicator);
    communicator.end(result)
}

fn run_as(args: &Args, typed: &Typed, communicator: &Communicator) -> Result<(), Failure> {
    // Rank 0 reads and sends the result to the others.
    let mut read = None;
    let bytes = communicator.share(|| {
        let prepared = prepare(args, typed, communicator)?;
        let bytes = match communicator.size() {
            1 => Vec::new(),
            _ => prepared.to_bytes(),
        };
        read = Some(prepared);
        Ok(bytes)
    })?;
    let leads = read.is_some();
    let mut prepared = match read {
        Some(prepared) => prepared,
        None => PreparedCluster::from_bytes(&bytes)?,
    };
    let devices = open(args, &prepared, communicator)?;
    // The progress is that of the lines; a signal ends the run.
    let signals = Progress::new("", true);
    let ranks = communicator.ranks();
    if !leads {
        let started = prepared.start(&devices, None, ranks, &signals);
        let ran = started.and_then(|(mut recorder, _)| recorder.run(&mut ()));
        return ran.map_err(|error| match error {
            Error::Engine(error) => error.into(),
            // Rank 0 has the same error and reports it.
            _ => Failure::Elsewhere(1),
        });
    }
    let most = prepared.overrides.max_error;
    let reported = !args.quiet || args.json || most.is_some();
    let check = reported.then(|| CheckOptions {
        threads: args.cpu.threads,
        simd: args.cpu.simd(),
    });
    let alone = ranks.is_none();
    let of_start = std::mem::take(&mut prepared.warnings);
    let (mut recorder, notes) = prepared.start(&devices, check, ranks, &signals)?;
    interrupt::watch()?;
    if !args.quiet {
        warn_of_one_lane(args.backend);
    }
    let cluster = &recorder.run.cluster;
    let counters = cluster.counters().clone();
    let before = (cluster.operations(), counters.blocks, counters.steps);
    let prints = !args.json && !args.quiet;
    let mut beside = Beside {
        args,
        live: args
            .live
            .show(live::about_cluster(cluster, recorder.stops.end))?,
        end: recorder.stops.end,
        line: counters,
        hint: None,
    };
    if prints {
        head(cluster)?;
    }
    let began = Stopwatch::start();
    time_run::run(&mut recorder, &mut beside, alone, args.quiet)?;
    let elapsed = began.elapsed().as_secs_f64();
    let undefined = out::undefined(&recorder.undefined_columns()?);
    let notes = notes.into_iter().chain(beside.hint).chain(undefined);
    let report = Report {
        recorder: &recorder,
        notes: notes.collect(),
        last: recorder.history.last_moment()?,
        of_start,
        before,
    };
    if args.json || !args.quiet {
        report.print(args.json, elapsed)?;
    }
    Ok(recorder.check(most)?)
}

/// Opens the devices of a run.
fn open(
    args: &Args,
    prepared: &PreparedCluster,
    communicator: &Communicator,
) -> Result<OpenDevices, Failure> {
    let specification = prepared.specification();
    let scheme = specification.ahmad_cohen.map(|_| Scheme::AhmadCohen);
    let options = trisolar::hermite::Options {
        duration: Some(prepared.times.end - prepared.time()),
        ..args.options(scheme, communicator)?
    };
    let bodies = prepared.bodies().len();
    let opened = match communicator.ranks() {
        Some(ranks) => options.open_on_ranks(specification, bodies, ranks),
        None => options.open(specification, bodies),
    };
    opened.map_err(|error| communicator.here(error).unwrap_or_else(Failure::from))
}

/// The run from its start or checkpoint, with checked options.
fn prepare(
    args: &Args,
    typed: &Typed,
    communicator: &Communicator,
) -> Result<PreparedCluster, Failure> {
    let prepared = match &args.resume {
        // The options are checked before anything is read, as far as they are known.
        None => {
            args.options(args.overrides.values.scheme, communicator)?;
            begin(args, typed)?
        }
        Some(path) => resume(args, typed, path)?,
    };
    let scheme = prepared.specification().ahmad_cohen;
    args.options(scheme.map(|_| Scheme::AhmadCohen), communicator)?;
    if communicator.size() > 1 && prepared.specification().close_pairs.is_some() {
        return Err(Failure::BadInput(
            "--close-pairs regularised integrates pairs in one process; start the run without mpirun".into(),
        ));
    }
    Ok(prepared)
}

/// A new run.
fn begin(args: &Args, typed: &Typed) -> Result<PreparedCluster, Failure> {
    let mut files = args.files.files();
    if let Some(folder) = args.shown_in(typed) {
        files.plots = Some(folder);
    }
    let mut overrides = args.overrides.values.clone();
    if let Some(path) = &args.config {
        overrides = overrides.merged_over(config::load(path)?);
    }
    let input = overrides.input.clone();
    let inputs = [
        ("--config", args.config.as_deref()),
        ("--input", input.as_deref()),
    ];
    let start = || -> Result<(Validated, Overrides), Failure> {
        let started = overrides.start(None);
        let (start, overrides) = started.map_err(|error| match (error, &input) {
            (OverridesError::File(e), Some(path)) => {
                Failure::value(&path.display().to_string(), "--input", &e.to_string())
            }
            (error, _) => Error::from(error).into(),
        })?;
        if !args.quiet {
            for warning in start.warnings() {
                out::to_stderr(&format!("warning: {warning}"));
            }
            // The summary contains them, but that may be too late.
            for note in (start.notes().iter()).filter(|_| !start.warnings().is_empty()) {
                out::to_stderr(&format!("note: {note}"));
            }
        }
        Ok((start, overrides))
    };
    let prepared = PreparedCluster::new(files, &inputs, start)?;
    if let Some(path) = &prepared.files.save_config {
        config::save_options(path, "cluster", &prepared.overrides)?;
    }
    Ok(prepared)
}

/// A resumed run, with all options with which it began.
fn resume(args: &Args, typed: &Typed, path: &Path) -> Result<PreparedCluster, Failure> {
    let (overrides, files) = PreparedCluster::options(path)?;
    let mut has = with_paths(&overrides);
    has.append(&mut with_paths(&files));
    let mut here = with_paths(&args.overrides.values);
    here.append(&mut with_paths(&args.files.files()));
    typed.refuse_others(&Resumed {
        file: path,
        has,
        given: here,
        extends: &["end", "steps"],
        elsewhere: &["max_error"],
    })?;
    Ok(PreparedCluster::resume(path, &args.overrides.values)?)
}

/// What is printed and shown beside a run.
struct Beside<'a> {
    args: &'a Args,
    live: Live,
    end: f64,
    /// The counters at the last line.
    line: Counters,
    /// What the user has been told of the regularisation of close pairs.
    hint: Option<String>,
}

impl<'r> Observer<ClusterRun<'r>> for Beside<'_> {
    fn advance(
        &mut self,
        run: &mut ClusterRun<'r>,
        to: f64,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<bool, Error> {
        self.live.advance(run, to, go_on)
    }

    fn recorded(
        &mut self,
        run: &mut ClusterRun<'r>,
        time: f64,
        _: &Vec<Star>,
        line: Option<&Line>,
    ) -> Result<(), Error> {
        if let Some(line) = line.filter(|_| !self.args.json && !self.args.quiet) {
            out::to_stdout(&in_words(line))?;
        }
        self.hint(&run.cluster);
        if time >= self.end {
            self.live.show_stars(&mut run.cluster, time)?;
            self.live.finish();
        }
        Ok(())
    }

    fn patience(&self) -> Box<dyn Any> {
        time_run::patience()
    }

    fn film(&self) -> Box<dyn Monitor> {
        time_run::film(self.args.quiet)
    }
}

impl Beside<'_> {
    /// Tells once that close pairs can be regularised, if most steps since the previous line were taken by one or two particles at a time.
    fn hint(&mut self, cluster: &Cluster<'_>) {
        const MIN_PARTICLES: usize = 16;
        const MIN_STEPS: u64 = 10_000;
        let now = cluster.counters();
        let few = |counters: &Counters| {
            let blocks = |bin: usize| counters.active.get(bin).copied().unwrap_or(0);
            blocks(0) + 2 * blocks(1)
        };
        let steps = now.steps - self.line.steps;
        let share = (few(now) - few(&self.line)) as f64 / steps.max(1) as f64;
        let regularised = cluster.specification().close_pairs.is_some();
        let many = cluster.stars().len() >= MIN_PARTICLES && steps >= MIN_STEPS;
        self.line = now.clone();
        if self.hint.is_some() || regularised || !many || share < 0.5 {
            return;
        }
        let said = format!(
            "{:.0} % of the steps up to time {} were taken by one or two particles at a time, usually a close pair; \
             --close-pairs regularised, with --softening 0, integrates such a pair as a single particle",
            100.0 * share,
            cluster.specification().on_the_clock(cluster.time())
        );
        if !self.args.quiet {
            out::to_stderr(&format!("note: {said}"));
        }
        self.hint = Some(said);
    }
}

/// Prints the titles of the lines of diagnostics.
fn head(cluster: &Cluster<'_>) -> Result<(), Failure> {
    let spec = cluster.specification();
    let (pairs, columns) = match spec.close_pairs {
        Some(options) => (
            format!(", close pairs within {} regularised", options.radius),
            format!(" {:>8} {:>10} {:>7}", "binaries", "hardest a", "e"),
        ),
        None => (String::new(), String::new()),
    };
    out::to_stdout(&format!(
        "# {} particles, order {}, {}, softening {}{pairs}, eta {}, {}\n#{:>9} {:>10} {:>10} {:>10} {:>12} {:>8} {:>9} {:>9}{columns}",
        cluster.stars().len(),
        spec.order,
        spec.precision,
        spec.softening,
        spec.eta,
        cluster.engine().device(),
        "time",
        "dE/E local",
        "dE/E",
        "blocks",
        "steps",
        "active",
        "r core",
        "r half",
    ))
}

/// A line of diagnostics as it is printed.
fn in_words(line: &Line) -> String {
    let binaries = match line.binaries {
        None => String::new(),
        Some(Binaries {
            number,
            hardest: Some((a, e)),
        }) => format!(" {number:>8} {a:>10.3e} {e:>7.4}"),
        Some(_) => format!(" {:>8} {:>10} {:>7}", 0, "-", "-"),
    };
    format!(
        "{:>10.4} {:>+10.2e} {:>+10.2e} {:>10} {:>12} {:>8.2} {:>9.4} {:>9.4}{binaries}",
        line.time,
        line.error_local,
        line.error,
        line.blocks,
        line.steps,
        line.steps as f64 / line.blocks.max(1) as f64,
        line.core_radius,
        line.half_mass_radius(),
    )
}
