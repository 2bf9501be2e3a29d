//! `trisolar cluster`: a star cluster by Hermite integration, its diagnostics, snapshots and checkpoints.

use std::path::{Path, PathBuf};

use trisolar::accuracy::{Displacement, Displacements, Energies, EnergyError, no_energy};
use trisolar::bodies::Tracks;
use trisolar::gpu::Stopwatch;
use trisolar::hermite::files::{Checkpoint, FileError, write_snapshot};
use trisolar::hermite::{
    Cluster, Counters, OpenDevices, Overrides, OverridesError, SHAPE_FRACTIONS, Scheme,
    Specification, Star, StepCheck, Times, bodies_of,
};
use trisolar::io::atomic;
use trisolar::io::npz::{NpzWriter, SPECIFICATION};
use trisolar::run::Workers;
use trisolar::run::{self, Claim, Renewal};

use super::cpu_args::warn_of_one_lane;
use super::explore::live::{self, Live};
use super::nbody::say_what_exists;
use super::plots;
use super::ranks::Communicator;
use super::report::{self, Common, Lines};
use super::resume::Typed;
use super::{Failure, interrupt};

mod begin;
mod follow;
mod options;
mod outputs;
mod pictures;
mod stops;

use begin::{Begun, InitialState, REPORT, WORST};
use follow::{Course, Together};
pub(crate) use options::Args;
use outputs::OutputArgs;
use stops::Stops;

/// The advice for a large energy error.
const ADVICE: &str = "use a smaller --eta or a larger --softening";

/// What to tell the user of a run whose steps would be checked in one process.
const UNCHECKED_ON_RANKS: &str = "the energy shows nothing of light bodies and test bodies, and only runs without mpirun repeat their steps to \
     check them otherwise";

/// Columns of the recorded series before the Lagrange radii.
const COLUMNS: [&str; 12] = [
    "time",
    "kinetic",
    "potential",
    "error_local",
    "error",
    "blocks",
    "steps",
    "centre_x",
    "centre_y",
    "centre_z",
    "core_radius",
    "internal",
];
/// The column of the core radius.
const CORE_RADIUS: usize = 10;
/// The column of the energy without the motion of the centre of mass.
const INTERNAL: usize = 11;

/// Columns after the Lagrange radii if close pairs are regularised: the number of binaries, semi-major axis and eccentricity of the hardest.
const BINARY_COLUMNS: [&str; 3] = ["binaries", "hardest_a", "hardest_e"];

/// The Lagrange radii of a row of the recorded series.
fn lagrange_radii(row: &[f64]) -> &[f64] {
    &row[COLUMNS.len()..COLUMNS.len() + SHAPE_FRACTIONS.len()]
}

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
        let begun = begin(args, typed, communicator)?;
        let bytes = match communicator.size() {
            1 => Vec::new(),
            _ => Course::bytes(&begun),
        };
        read = Some(begun);
        Ok(bytes)
    })?;
    let open = |specification: &Specification, bodies, duration| {
        let scheme = specification.ahmad_cohen.map(|_| Scheme::AhmadCohen);
        let options = trisolar::hermite::Options {
            duration: Some(duration),
            ..args.options(scheme, communicator)?
        };
        let opened = match communicator.ranks() {
            Some(ranks) => options.open_on_ranks(specification, bodies, ranks),
            None => options.open(specification, bodies),
        };
        opened.map_err(|error| communicator.here(error).unwrap_or_else(Failure::from))
    };
    let Some(begun) = read else {
        return follow::follow(&bytes, communicator.ranks(), open);
    };
    let duration = begun.times.end - begun.state.time();
    let devices = open(begun.state.specification(), begun.state.bodies(), duration)?;
    let mut run = Run::start(args, begun, &devices, Together::new(communicator.ranks()))?;
    interrupt::watch()?;
    if !args.quiet {
        warn_of_one_lane(args.backend);
    }
    run.go()?;
    run.finish()
}

/// The run from its start or checkpoint, with checked options.
fn begin(args: &Args, typed: &Typed, communicator: &Communicator) -> Result<Begun, Failure> {
    let begun = match &args.resume {
        // The options are checked before anything is read, as far as they are known.
        None => {
            args.options(args.overrides.values.scheme, communicator)?;
            Begun::begin(args, typed)?
        }
        Some(path) => Begun::resume(args, typed, path)?,
    };
    let scheme = begun.state.specification().ahmad_cohen;
    args.options(scheme.map(|_| Scheme::AhmadCohen), communicator)?;
    if communicator.size() > 1 && begun.state.specification().close_pairs.is_some() {
        return Err(Failure::BadInput(
            "--close-pairs regularised integrates pairs in one process; start the run without mpirun".into(),
        ));
    }
    Ok(begun)
}

struct Run<'a> {
    args: &'a Args,
    times: Times,
    /// The largest allowed energy error.
    max_error: Option<f64>,
    overrides: Overrides,
    output: OutputArgs,
    /// Notes for the user about the run and the selected devices.
    notes: Vec<String>,
    /// Warnings about the start.
    of_start: Vec<String>,
    cluster: Cluster<'a>,
    /// The processes that compute together.
    together: Together,
    live: Live,
    series: Vec<Vec<f64>>,
    /// States of the particles whose paths are drawn.
    tracks: Option<Tracks>,
    /// The energy error, after its first evaluation.
    error: Option<EnergyError>,
    began: Stopwatch,
    /// The check of the steps, if it is reported or limited.
    check: Option<StepCheck>,
    /// The time of the particles in pictures: the end, or that of an interruption.
    until: f64,
    /// The counters at the last line.
    line: Counters,
    /// Whether the user has been told of the regularisation of close pairs.
    hinted: bool,
    /// Operations and block steps before this process.
    before: (f64, u64, u64),
    /// The record of the run for the checkpoint, if there is one.
    record: Option<run::Record>,
    /// Decides when a checkpoint is due.
    renewal: Renewal,
    /// Keeps the outputs locked.
    _claim: Claim,
}

impl<'a> Run<'a> {
    fn start(
        args: &'a Args,
        begun: Begun,
        devices: &'a OpenDevices,
        together: Together,
    ) -> Result<Self, Failure> {
        let Begun {
            state,
            times,
            max_error,
            overrides,
            output,
            record,
            mut notes,
            warnings,
            claim,
        } = begun;
        let engine = devices.engine()?;
        let by = devices.block_steps(engine.as_ref(), state.specification());
        let bodies = state.all_bodies();
        let reported = !args.quiet || args.json || max_error.is_some();
        let check = (reported && together.is_alone())
            .then(|| {
                let (spec, span) = (state.specification(), [state.time(), times.end]);
                StepCheck::of(spec, &bodies, span, args.cpu.threads, args.cpu.simd())
            })
            .flatten();
        let goes_on = times.end > state.time();
        if reported && goes_on && check.is_none() && Displacements::are_needed(&bodies) {
            notes.push(match together.is_alone() {
                true => Displacements::TOO_MANY.into(),
                false => UNCHECKED_ON_RANKS.into(),
            });
        }
        if check.is_some() && state.time() > 0.0 {
            let reason = "the positions before it were checked by the run that computed them";
            let time = state.specification().on_the_clock(state.time());
            notes.push(format!("resumed at time {time}: {reason}"));
        }
        let mut tracks = None;
        let (mut cluster, series) = match state {
            InitialState::Start(start) => (Cluster::new(&start, engine)?, Vec::new()),
            InitialState::Resumed(checkpoint, worst) => {
                let Checkpoint {
                    specification,
                    stars,
                    parts,
                    pairs,
                    time,
                    counters,
                    series,
                    tracks: recorded,
                } = *checkpoint;
                tracks = recorded;
                let mut cluster =
                    Cluster::resumed(specification, stars, parts, time, counters, engine)?;
                cluster.restore_pairs(pairs);
                cluster.remember_abrupt(worst);
                (cluster, series)
            }
        };
        cluster.set_block_steps(by)?;
        let drawn = cluster.stars().len().min(plots::MAX_DRAWN_ORBITS);
        let tracks = (output.want_tracks()).then(|| tracks.unwrap_or_else(|| Tracks::new(drawn)));
        let counters = cluster.counters().clone();
        let before = (
            cluster.operations(),
            cluster.counters().blocks,
            cluster.counters().steps,
        );
        notes.extend_from_slice(devices.notes());
        Ok(Self {
            args,
            times,
            max_error,
            overrides,
            live: args.live.show(live::about_cluster(&cluster, times.end))?,
            output,
            notes,
            of_start: warnings,
            cluster,
            together,
            error: error_of(&series),
            check,
            series,
            tracks,
            began: Stopwatch::start(),
            until: times.end,
            line: counters,
            hinted: false,
            before,
            record,
            renewal: Renewal::default(),
            _claim: claim,
        })
    }

    /// Advances the cluster from one line of diagnostics to the next.
    fn go(&mut self) -> Result<(), Failure> {
        let args = self.args;
        if !args.json && !args.quiet {
            self.head()?;
        }
        self.restore_last_snapshot()?;
        let Times { end, every } = self.times;
        let stops = Stops::new(every, self.cluster.stars().len(), &self.output);
        let mut stop = stops.first_at(self.cluster.time());
        loop {
            let time = stops.time(stop).min(end);
            if time < self.cluster.time() {
                stop += 1;
                continue;
            }
            self.check_steps(time)?;
            self.advance(time)?;
            if !stops.is_line(stop) && time < end {
                self.track(time)?;
            } else if (self.series.last()).is_none_or(|row| {
                let spec = self.cluster.specification();
                spec.is_before(row[0], self.on_the_clock(time))
            }) {
                self.look(time)?;
            }
            if time >= end {
                self.live.show_stars(&mut self.cluster, time)?;
                self.live.finish();
                return Ok(());
            }
            stop += 1;
        }
    }

    /// Repeats the parts of the run that begin or end up to this time.
    fn check_steps(&mut self, time: f64) -> Result<(), Failure> {
        let due = |check: &Option<StepCheck>| check.as_ref().map(StepCheck::next_look);
        while let Some(look) = due(&self.check).filter(|look| *look <= time) {
            self.advance(look)?;
            let stars = self.cluster.at(look)?;
            if let Some(check) = &mut self.check {
                check.look(&stars, &mut |_| !interrupt::interrupted())?;
            }
        }
        Ok(())
    }

    /// Advances the cluster to a line of diagnostics, and renews the checkpoint meanwhile.
    fn advance(&mut self, time: f64) -> Result<(), Failure> {
        loop {
            let due = self.record.as_ref().map(|_| &self.renewal);
            let together = &mut self.together;
            let mut go_on = |_| {
                let due = due.is_some_and(Renewal::is_due);
                !together.pauses(due || interrupt::interrupted())
            };
            if self.live.advance(&mut self.cluster, time, &mut go_on)? {
                return Ok(());
            }
            if !self.together.interrupted() {
                self.put(|_| Ok(()))?;
                continue;
            }
            if self.series.len() < 2 {
                self.put(|_| Ok(()))?;
            } else {
                self.finish_early()?;
            }
            self.say_how_to_go_on();
            return Err(Failure::Interrupted);
        }
    }

    /// The time on the clock of the file, from a time of the run's own clock.
    fn on_the_clock(&self, time: f64) -> f64 {
        self.cluster.specification().on_the_clock(time)
    }

    /// Records the state at a time.
    fn look(&mut self, time: f64) -> Result<(), Failure> {
        let stars = self.cluster.at(time)?;
        let potentials = self.cluster.potentials(&stars)?;
        let energy = Cluster::energy_of(&stars, &potentials);
        let total = energy.total();
        if !total.is_finite() {
            return Err(not_finite(self.on_the_clock(time), total, &stars));
        }
        let shape = self.cluster.shape(&stars);
        let error = self.error.get_or_insert(EnergyError::new(energy));
        let now = energy.internal;
        let before = self.series.last().map_or(now, |row| row[INTERNAL]);
        let (local, since_start) = (error.change(before, now), error.look(now));
        let counters = self.cluster.counters();
        let shown = self.on_the_clock(time);
        let mut row = vec![
            shown,
            energy.kinetic,
            energy.potential,
            local,
            since_start,
            counters.blocks as f64,
            counters.steps as f64,
        ];
        row.extend(shape.centre.to_array());
        row.extend([shape.core_radius, energy.internal]);
        row.extend(shape.lagrange);
        let mut binaries = String::new();
        if let Some(found) = self.cluster.binaries(&stars) {
            let (a, e) = found.hardest.unwrap_or((f64::NAN, f64::NAN));
            row.extend([found.number as f64, a, e]);
            binaries = match found.hardest {
                Some((a, e)) => format!(" {:>8} {a:>10.3e} {e:>7.4}", found.number),
                None => format!(" {:>8} {:>10} {:>7}", 0, "-", "-"),
            };
        }
        if !self.args.json && !self.args.quiet {
            report::to_stdout(&format!(
                "{shown:>10.4} {:>+10.2e} {:>+10.2e} {:>10} {:>12} {:>8.2} {:>9.4} {:>9.4}{binaries}",
                row[3],
                row[4],
                counters.blocks,
                counters.steps,
                counters.steps as f64 / counters.blocks.max(1) as f64,
                shape.core_radius,
                shape.half_mass_radius(),
            ))?;
        }
        self.hint();
        self.remember(time, &stars);
        // Every line has a snapshot: its number is that of the line.
        let snapshot = self.output.snapshot(self.series.len());
        self.series.push(row);
        let specification = self.cluster.specification().clone();
        self.put(|_| match &snapshot {
            Some(path) => write_snapshot(path, time, &stars, &specification).map_err(file_failed),
            None => Ok(()),
        })
    }

    /// Tells once that close pairs can be regularised, if most steps since the previous line were taken by one or two particles at a time.
    fn hint(&mut self) {
        const MIN_PARTICLES: usize = 16;
        const MIN_STEPS: u64 = 10_000;
        let now = self.cluster.counters();
        let few = |counters: &Counters| {
            let blocks = |bin: usize| counters.active.get(bin).copied().unwrap_or(0);
            blocks(0) + 2 * blocks(1)
        };
        let steps = now.steps - self.line.steps;
        let share = (few(now) - few(&self.line)) as f64 / steps.max(1) as f64;
        let regularised = self.cluster.specification().close_pairs.is_some();
        let many = self.cluster.stars().len() >= MIN_PARTICLES && steps >= MIN_STEPS;
        self.line = now.clone();
        if self.hinted || regularised || !many || share < 0.5 {
            return;
        }
        self.hinted = true;
        let said = format!(
            "{:.0} % of the steps up to time {} were taken by one or two particles at a time, usually a close pair; \
             --close-pairs regularised, with --softening 0, integrates such a pair as a single particle",
            100.0 * share,
            self.on_the_clock(self.cluster.time())
        );
        if !self.args.quiet {
            report::to_stderr(&format!("note: {said}"));
        }
        self.notes.push(said);
    }

    /// Records the paths between two lines of diagnostics.
    fn track(&mut self, time: f64) -> Result<(), Failure> {
        let stars = self.cluster.at(time)?;
        self.remember(time, &stars);
        Ok(())
    }

    fn remember(&mut self, time: f64, stars: &[Star]) {
        if let Some(tracks) = &mut self.tracks {
            let state = |s: &Star| [s.position(), s.velocity(), s.acceleration()];
            tracks.push(time, stars.iter().map(state));
        }
    }

    /// The last snapshot may be missing: the checkpoint that knows of it is written before it.
    fn restore_last_snapshot(&mut self) -> Result<(), Failure> {
        let (lines, now) = (self.series.len(), self.cluster.time());
        let Some((path, time)) = self.output.missing_snapshot(lines, now, self.times) else {
            return Ok(());
        };
        let stars = self.cluster.at(time)?;
        let specification = self.cluster.specification().clone();
        let write = || write_snapshot(&path, time, &stars, &specification);
        self.put(|_| write().map_err(file_failed))
    }

    /// Writes files, after their checksums have been stored in the checkpoint.
    fn put(&mut self, write: impl FnOnce(&Self) -> Result<(), Failure>) -> Result<(), Failure> {
        let _busy = interrupt::patient();
        let mut renewal = std::mem::take(&mut self.renewal);
        let result = renewal.renew(|| {
            let ((), staged) = atomic::stage(|| write(self))?;
            if let Some(record) = &mut self.record {
                record.expect(&staged)?;
                let worst = serde_json::to_value(self.cluster.abrupt());
                record.extend(REPORT, WORST, worst.unwrap_or_default());
                let (time, end) = (self.cluster.time(), self.times.end);
                let spec = self.cluster.specification();
                let looked = self.series.last().map_or(spec.start_time, |row| row[0]);
                let [now, last] = [time, end].map(|time| spec.on_the_clock(time));
                let unfinished = time > 0.0 && spec.is_before(looked, last);
                let progress = || format!("time {now} of {last}");
                record.set_unfinished(unfinished.then(progress));
            }
            self.save()?;
            Ok(staged.commit()?)
        });
        self.renewal = renewal;
        result
    }

    /// Writes the checkpoint, if one is requested.
    fn save(&self) -> Result<(), Failure> {
        let Some(path) = &self.output.checkpoint else {
            return Ok(());
        };
        let checkpoint = Checkpoint {
            specification: self.cluster.specification().clone(),
            stars: self.cluster.stars().to_vec(),
            parts: self.cluster.parts().to_vec(),
            pairs: self.cluster.pairs().to_vec(),
            time: self.cluster.time(),
            counters: self.cluster.counters().clone(),
            series: self.series.clone(),
            tracks: self.tracks.clone(),
        };
        let written = checkpoint.write_with(path, self.record.as_ref());
        written.map_err(file_failed)
    }

    fn say_how_to_go_on(&self) {
        if self.args.quiet {
            return;
        }
        report::to_stderr(&match &self.output.checkpoint {
            Some(path) => {
                let (path, time) = (path.display(), self.on_the_clock(self.cluster.time()));
                format!(
                    "note: {path} holds the run at time {time}; resume it with: trisolar cluster --resume {path}"
                )
            }
            None => {
                "note: the run cannot be resumed; --checkpoint FILE makes a run resumable".into()
            }
        });
    }

    fn head(&self) -> Result<(), Failure> {
        let spec = self.cluster.specification();
        let (pairs, columns) = match spec.close_pairs {
            Some(options) => (
                format!(", close pairs within {} regularised", options.radius),
                format!(" {:>8} {:>10} {:>7}", "binaries", "hardest a", "e"),
            ),
            None => (String::new(), String::new()),
        };
        report::to_stdout(&format!(
            "# {} particles, order {}, {}, softening {}{pairs}, eta {}, {}\n#{:>9} {:>10} {:>10} {:>10} {:>12} {:>8} {:>9} {:>9}{columns}",
            self.cluster.stars().len(),
            spec.order,
            spec.precision,
            spec.softening,
            spec.eta,
            self.cluster.engine().device(),
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

    /// After an interruption, writes series, plots and films of what was computed.
    fn finish_early(&mut self) -> Result<(), Failure> {
        let _busy = interrupt::patient();
        self.until = self.cluster.time();
        let stars = match self.output.want_tracks() && self.together.is_alone() {
            true => self.cluster.at(self.until)?,
            false => Vec::new(),
        };
        self.put(|run| run.write_recorded(&stars))?;
        let files: Vec<PathBuf> = self.files();
        say_what_exists(&files, self.args.quiet);
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        let elapsed = self.began.elapsed().as_secs_f64();
        let stars = match self.output.wants_last_state() {
            true => self.cluster.at(self.times.end)?,
            false => Vec::new(),
        };
        let written = self.put(|run| run.write_results(&stars));
        if matches!(written, Err(Failure::Interrupted)) {
            self.say_how_to_go_on();
        }
        written?;
        let undefined = self
            .output
            .series
            .as_ref()
            .map(|_| self.undefined_columns());
        let undefined = undefined.and_then(|columns| report::undefined(&columns));
        self.notes.extend(undefined);
        // The last checkpoint is then the same whether or not the run was interrupted.
        if self.record.as_mut().is_some_and(run::Record::settle) {
            self.save()?;
        }
        if self.args.json {
            report::json(&self.object(elapsed))?;
        } else if !self.args.quiet {
            report::to_stdout(&self.summary(elapsed))?;
        }
        let checked = self.error.map_or(Ok(()), |e| e.check(self.max_error));
        let displaced = self.displacement();
        let checked = checked.and_then(|()| {
            let names = self.cluster.specification().names.as_deref();
            displaced.map_or(Ok(()), |found| found.check(self.max_error, names))
        });
        checked.map_err(Failure::Failed)
    }

    /// Warnings: reasons why the run may not be what the user intended.
    fn warnings(&self) -> Vec<String> {
        let abrupt = self
            .cluster
            .abrupt_warning("use a smaller --eta or a larger --softening");
        let error = self.error.and_then(|e| e.warning(ADVICE));
        let names = self.cluster.specification().names.as_deref();
        let displaced = (self.displacement()).and_then(|found| found.warning(names, ADVICE));
        let of_start = self.of_start.iter().cloned();
        of_start
            .chain(abrupt)
            .chain(error)
            .chain(displaced)
            .collect()
    }

    /// The largest displacement of a particle by the errors of the steps, if it is known.
    fn displacement(&self) -> Option<Displacement> {
        self.check.as_ref().and_then(StepCheck::largest)
    }

    /// The files that were written, without the snapshots. A plot that has nothing to show is not written.
    fn files(&self) -> Vec<PathBuf> {
        let results = self.output.results().into_iter().map(|(_, path)| path);
        let others = [&self.output.save_config, &self.output.checkpoint];
        let files = results.chain(others.into_iter().flatten().cloned());
        files.filter(|path| path.exists()).collect()
    }

    /// Writes all final files.
    fn write_results(&self, stars: &[Star]) -> Result<(), Failure> {
        for path in &self.output.out {
            let specification = self.cluster.specification();
            write_snapshot(path, self.times.end, stars, specification).map_err(file_failed)?;
        }
        self.write_recorded(stars)
    }

    /// Writes everything that is made from the records, and pictures of the particles at the time `until`.
    fn write_recorded(&self, stars: &[Star]) -> Result<(), Failure> {
        if let Some(path) = &self.output.series {
            self.write_series(path)?;
        }
        if let Some(prefix) = self.output.plots.as_ref().filter(|_| !stars.is_empty()) {
            self.draw(prefix, stars)?;
        }
        match stars.is_empty() {
            true => Ok(()),
            false => self.make_films(stars),
        }
    }

    /// The columns of the series that are not numbers at some line.
    fn undefined_columns(&self) -> Vec<&'static str> {
        let after = COLUMNS.len();
        let radii = after..after + SHAPE_FRACTIONS.len();
        let name = |k: usize| match k {
            k if k < after => COLUMNS[k],
            k if radii.contains(&k) => "lagrange_radii",
            k => BINARY_COLUMNS[k - radii.end],
        };
        let width = self.series.first().map_or(0, Vec::len);
        let undefined = |k: &usize| self.series.iter().any(|row| !row[*k].is_finite());
        let mut names: Vec<_> = (0..width).filter(undefined).map(name).collect();
        names.dedup();
        names
    }

    fn column(&self, k: usize) -> Vec<f64> {
        self.series.iter().map(|row| row[k]).collect()
    }

    fn write_series(&self, path: &Path) -> Result<(), Failure> {
        let mut file = NpzWriter::create(path)?;
        for (k, name) in COLUMNS.iter().enumerate() {
            let column = self.column(k);
            file.array(name, &[column.len()], &column)?;
        }
        let radii: Vec<f64> = self
            .series
            .iter()
            .flat_map(|row| lagrange_radii(row).to_vec())
            .collect();
        file.array(
            "lagrange_radii",
            &[self.series.len(), SHAPE_FRACTIONS.len()],
            &radii,
        )?;
        file.array(
            "lagrange_fractions",
            &[SHAPE_FRACTIONS.len()],
            &SHAPE_FRACTIONS,
        )?;
        if self.cluster.specification().close_pairs.is_some() {
            for (k, name) in BINARY_COLUMNS.iter().enumerate() {
                let column = self.column(COLUMNS.len() + SHAPE_FRACTIONS.len() + k);
                file.array(name, &[column.len()], &column)?;
            }
        }
        let counters = self.cluster.counters();
        for (name, counts) in [
            ("active_histogram", &counters.active),
            ("step_histogram", &counters.lengths),
        ] {
            let counts: Vec<f64> = counts.iter().map(|n| *n as f64).collect();
            file.array(name, &[counts.len()], &counts)?;
        }
        file.text(SPECIFICATION, &self.specification())?;
        file.finish()?;
        Ok(())
    }

    fn specification(&self) -> String {
        serde_json::to_string(self.cluster.specification()).expect("plain numbers")
    }

    /// Operations per second of this process: over all, and in the forces.
    fn rates(&self, elapsed: f64) -> (f64, f64) {
        let operations = self.cluster.operations() - self.before.0;
        (
            operations / elapsed,
            operations
                / (self.cluster.split().force + self.cluster.split().irregular)
                    .as_secs_f64()
                    .max(1e-9),
        )
    }

    fn object(&self, elapsed: f64) -> serde_json::Value {
        let split = self.cluster.split();
        let row = self.series.last();
        let value = |k: usize| row.map(|row| row[k]);
        let (overall, force) = self.rates(elapsed);
        let particles = self.cluster.stars().len();
        let mut specification = report::with_start(self.cluster.specification(), &self.overrides);
        specification["n"] = particles.into();
        let snapshots = (0..self.series.len()).filter_map(|number| self.output.snapshot(number));
        let common = Common {
            specification,
            files: self.files().into_iter().chain(snapshots).collect(),
            devices: report::device(&self.cluster.engine().device()),
            seconds: elapsed,
            rate: Some(overall),
            rate_unit: "operations/s",
            errors: serde_json::json!({
                "energy": value(4),
                "largest_energy": self.error.map(|e| e.largest()),
                "displacement": self.displacement().map(|found| found.relative),
            }),
            warnings: self.warnings(),
            notes: self.notes.clone(),
        };
        let mut object = serde_json::json!({
            "particles": particles,
            "device": self.cluster.engine().device(),
            "block_steps": self.cluster.block_steps().name(),
            "time": self.on_the_clock(self.times.end),
            "kinetic": value(1),
            "potential": value(2),
            "energy_error": value(4),
            "largest_energy_error": self.error.map(|e| e.largest()),
            "core_radius": value(CORE_RADIUS),
            "lagrange_radii": row.map(|row| lagrange_radii(row)),
            "counters": self.cluster.counters(),
            "worst_step": self.cluster.abrupt().map(|worst| serde_json::json!({
                "time": worst.time,
                "body": worst.body + 1,
                "neighbour": worst.neighbour + 1,
                "distance": worst.distance,
                "ratio": worst.ratio,
            })),
            "split": {
                "predict": split.predict.as_secs_f64(),
                "force": split.force.as_secs_f64(),
                "irregular": split.irregular.as_secs_f64(),
                "correct": split.correct.as_secs_f64(),
                "schedule": split.schedule.as_secs_f64(),
                "pairs": split.pairs.as_secs_f64(),
            },
            "flops": overall,
            "flops_force": force,
        });
        if self.cluster.specification().close_pairs.is_some() {
            for (k, name) in BINARY_COLUMNS.iter().enumerate() {
                let found = row.map(|row| row[COLUMNS.len() + SHAPE_FRACTIONS.len() + k]);
                object[*name] = found.filter(|x| x.is_finite()).into();
            }
        }
        common.with(object)
    }

    /// How often pairs were regularised.
    fn pairs_in_words(&self) -> Option<String> {
        self.cluster.specification().close_pairs?;
        let counters = self.cluster.counters();
        Some(format!(
            "{} became single particles, of which {} dissolved",
            report::grouped(counters.pairs_formed),
            report::grouped(counters.pairs_dissolved),
        ))
    }

    fn summary(&self, elapsed: f64) -> String {
        let mut lines = Lines::default();
        let counters = self.cluster.counters();
        let split = self.cluster.split();
        let (blocks, steps) = (
            counters.blocks - self.before.1,
            counters.steps - self.before.2,
        );
        lines.add("time", &report::time(elapsed));
        if let Some(error) = &self.error {
            let text = format!(
                "error {:+.3e}, at most {:+.3e}",
                error.last(),
                error.largest()
            );
            lines.add("energy", &text);
        }
        if let Some(found) = self.displacement() {
            let names = self.cluster.specification().names.as_deref();
            let text = format!(
                "errors of the steps displace {}, others less",
                found.in_words(names)
            );
            lines.add("positions", &text);
        }
        lines.add("block steps", &report::grouped(blocks));
        lines.add("steps", &report::grouped(steps));
        let share = |d: std::time::Duration| 100.0 * d.as_secs_f64() / elapsed;
        // What a run has not takes no place.
        let all = [
            ("predict", split.predict),
            ("force", split.force),
            ("neighbours' force", split.irregular),
            ("close pairs", split.pairs),
            ("correct", split.correct),
            ("schedule", split.schedule),
        ];
        let spec = self.cluster.specification();
        let shown = all.iter().filter(|(name, _)| match *name {
            "neighbours' force" => spec.ahmad_cohen.is_some(),
            "close pairs" => spec.close_pairs.is_some(),
            _ => true,
        });
        let mut words: Vec<String> = shown
            .map(|(name, time)| format!("{name} {:.1} %", share(*time)))
            .collect();
        let rest = 100.0 - all.iter().map(|(_, time)| share(*time)).sum::<f64>();
        words.push(format!("diagnostics and files {rest:.1} %"));
        lines.add("split", &words.join(", "));
        let (overall, force) = self.rates(elapsed);
        let operations = self.cluster.specification().order.operations();
        lines.add(
            "rate",
            &format!(
                "{:.1} Gflop/s, {:.1} in the forces ({operations} operations a pair)",
                overall / 1e9,
                force / 1e9
            ),
        );
        if counters.regular_steps > 0 {
            let text = format!(
                "{} regular steps, {:.1} neighbours on average, {} lists too long and built again",
                report::grouped(counters.regular_steps),
                counters.irregular_pairs as f64
                    / (counters.steps + counters.regular_steps).max(1) as f64,
                report::grouped(counters.overflows),
            );
            lines.add("neighbours", &text);
        }
        if let Some(pairs) = self.pairs_in_words() {
            lines.add("pairs", &pairs);
        }
        if counters.noisy > 0 {
            let text = format!(
                "{} steps were not shortened: the highest derivatives were rounding noise",
                report::grouped(counters.noisy)
            );
            lines.add("note", &text);
        }
        for warning in self.warnings() {
            lines.add("warning", &warning);
        }
        if counters.clamped > 0 {
            let text = format!(
                "{} steps were lengthened to --min-step",
                report::grouped(counters.clamped)
            );
            lines.add("note", &text);
        }
        for note in &self.notes {
            lines.add("note", note);
        }
        for path in self.files() {
            lines.add_whole("file", &path.display().to_string());
        }
        if let Some(folder) = &self.output.snapshots {
            lines.add_whole("folder", &folder.display().to_string());
        }
        lines.as_str().to_owned()
    }
}

/// The energy error in the lines that were recorded before.
fn error_of(series: &[Vec<f64>]) -> Option<EnergyError> {
    let first = series.first()?;
    let mut error = EnergyError::new(Energies {
        kinetic: first[1],
        potential: first[2],
        internal: first[INTERNAL],
    });
    for row in series {
        error.look(row[INTERNAL]);
    }
    Some(error)
}

/// The failure of an energy that is not finite although all coordinates are.
fn not_finite(time: f64, total: f64, stars: &[Star]) -> Failure {
    Failure::Failed(no_energy(&format!("time {time}"), total, &bodies_of(stars)))
}

fn refused(path: &Path, option: &str, reason: &dyn std::fmt::Display) -> Failure {
    Failure::value(&path.display().to_string(), option, &reason.to_string())
}

fn file_failed(error: FileError) -> Failure {
    Failure::Failed(error.to_string())
}

/// A refused start, with the names of the options on the command line.
fn refused_overrides(args: &Args, error: OverridesError) -> Failure {
    match (error, &args.overrides.values.input) {
        (OverridesError::Value(e), _) => Failure::value(&e.given, e.option, &e.allowed),
        (OverridesError::File(e), Some(path)) => refused(path, "--input", &e),
        (error, _) => Failure::BadInput(error.to_string()),
    }
}
