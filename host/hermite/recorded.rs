//! Runs of clusters that are recorded.

use std::path::Path;
use std::rc::Rc;

use super::files::{Checkpoint, write_snapshot};
use super::{
    Abrupt, Binaries, Cluster, HermiteError, Line, OpenDevices, Overrides, OverridesError,
    SHAPE_FRACTIONS, Scheme, Specification, Star, StepCheck, Times, Validated, bodies_of,
};
use trisolar_bodies::{
    Bodies, ColumnDensity, DVec3, Displacement, Displacements, EnergyError, no_energy,
};
use trisolar_io::colour::{ColourMap, ColourRange, Spacing};
use trisolar_io::older;
use trisolar_io::picture::{self, Axis, Labels, Map, PictureStyle};
use trisolar_io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series};
use trisolar_run::{Claim, Monitor, Ranks, Record};
use trisolar_simd::Simd;
use trisolar_time_run::pictures::{ENERGY_ERROR, INNER, MAX_NAMED, Scene};
use trisolar_time_run::series::{self, COUNT, Column, Content};
use trisolar_time_run::stops::{Between, Stops, paths_per_record};
use trisolar_time_run::{Error, Files, History, Recorder, Row as _, TimeRun};

/// Groups of options in a checkpoint.
const START: &str = "start";
/// Data of the earlier part of the run that reports need.
const REPORT: &str = "report";
const WORST: &str = "worst_step";
/// The units of a cluster with G = 1.
const UNITS: &str = "N-body units";
/// Cells along a side of the picture of the density.
const DENSITY_CELLS: usize = 700;
/// The range of its colours: the highest density and as much below.
const DENSITY_RATIO: f64 = 1e4;
/// What to tell the user of a run whose steps would be checked in one process.
const UNCHECKED_ON_RANKS: &str = "the energy shows nothing of light bodies and test bodies, and only runs without mpirun repeat their steps to \
     check them otherwise";
/// Number of block steps after which the ranks tell each other whether one of them wants to pause.
const BLOCKS_PER_CHECK: u64 = 16;
/// The progress of a whole run.
const PROGRESS_UNITS: f64 = 1e9;

impl From<HermiteError> for Error {
    fn from(error: HermiteError) -> Self {
        match error {
            HermiteError::Engine(error) => Self::Engine(error),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<OverridesError> for Error {
    fn from(error: OverridesError) -> Self {
        match error {
            OverridesError::Value(e) => Self::value(&e.given, e.option, e.allowed),
            error => Self::Input(error.to_string()),
        }
    }
}

/// When a run of `n` particles stops. More than a few are recorded with their diagnostics only, because every state needs the force of
/// all others.
fn stops(Times { end, every }: Times, files: &Files, n: usize) -> Stops {
    let parts = if files.want_paths() {
        paths_per_record(n)
    } else {
        1
    };
    Stops {
        every,
        end,
        between: Between::Parts(parts),
    }
}

/// The particles with which a run begins.
#[derive(Debug)]
pub enum InitialState {
    /// Those of a start.
    Start(Validated),
    /// Those of a checkpoint, with the worst step before it.
    Resumed(Box<Checkpoint>, Option<Abrupt>),
}

/// A new or resumed run that has not started.
#[derive(Debug)]
pub struct PreparedCluster {
    /// Its particles.
    pub state: InitialState,
    /// Its end and the interval of its diagnostics, on its own clock, which begins at 0.
    pub times: Times,
    /// All its values, given or default.
    pub overrides: Overrides,
    /// Its files.
    pub files: Files,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Warnings about the start.
    pub warnings: Vec<String>,
    pub(super) record: Option<Record>,
    /// Keeps the outputs locked; none on other ranks.
    pub(super) claim: Option<Claim>,
    /// The time of the last line of diagnostics, and their number.
    pub(super) recorded: (Option<f64>, usize),
    /// Whether the last snapshot is missing and can be written again: the checkpoint that knows of it is written before it.
    pub(super) again: bool,
}

impl PreparedCluster {
    /// A new run of this start. `inputs` are files that it reads, with their options.
    ///
    /// # Errors
    /// [`Error`]; `start` may fail with any.
    pub fn new<E: From<Error>>(
        files: Files,
        inputs: &[(&str, Option<&Path>)],
        start: impl FnOnce() -> Result<(Validated, Overrides), E>,
    ) -> Result<Self, E> {
        let claim = files.claim(inputs)?;
        let record = files.record(ClusterRun::COMMAND, ClusterRun::PICTURES)?;
        let (start, mut overrides) = start()?;
        overrides.scheme.get_or_insert(Scheme::Plain);
        let times = overrides.times_from(start.specification().start_time);
        let record = record.map(|mut record| {
            record.set(START, &overrides)?;
            Ok::<_, Error>(record)
        });
        Ok(Self {
            notes: start.notes().to_vec(),
            warnings: start.warnings().to_vec(),
            state: InitialState::Start(start),
            times: times.map_err(Error::from)?,
            overrides,
            files,
            record: record.transpose()?,
            claim: Some(claim),
            recorded: (None, 0),
            again: false,
        })
    }

    /// The options and the files of the run of a checkpoint.
    ///
    /// # Errors
    /// [`Error`].
    pub fn options(path: &Path) -> Result<(Overrides, Files), Error> {
        let (files, record) = Files::of_checkpoint(path, ClusterRun::COMMAND)?;
        Ok((record.get(START)?, files))
    }

    /// The run of a checkpoint, with all options with which it began; those that are `asked` may extend it and limit its errors.
    ///
    /// # Errors
    /// [`Error`].
    pub fn resume(path: &Path, asked: &Overrides) -> Result<Self, Error> {
        let (_, files) = Self::options(path)?;
        asked.check_max_error()?;
        let claim = files.claim(&[])?;
        older::own(path);
        // A run that held the lock until now may have renewed the checkpoint.
        let (_, mut record) = Files::of_checkpoint(path, ClusterRun::COMMAND)?;
        let overrides: Overrides = record.get(START)?;
        let checkpoint = Checkpoint::read(path);
        let mut checkpoint =
            checkpoint.map_err(|e| Error::value(&path.display(), "--resume", e))?;
        let spec = checkpoint.specification.clone();
        let start_time = spec.start_time;
        let had = overrides.times_from(start_time)?;
        let extended = Overrides {
            end: Some(match (asked.end, asked.steps) {
                (None, None) => overrides.end_from(start_time),
                _ => Overrides {
                    max_step: Some(spec.max_step),
                    ..asked.clone()
                }
                .end_from(start_time),
            }),
            steps: None,
            max_error: asked.max_error.or(overrides.max_error),
            ..overrides
        };
        let times = extended.times_from(start_time)?;
        let end = extended.end_from(start_time);
        if extended.is_backwards(start_time) != spec.backwards {
            let way = if spec.backwards { "before" } else { "after" };
            let reason = format!(
                "must be {way} {start_time}, the time of the start, as that of the run so far"
            );
            return Err(Error::value(&end, "--end", reason));
        }
        let stops = stops(had, &files, checkpoint.stars.len());
        if times.end > had.end && !stops.has(had.end) {
            // A run that had this length from the start would not have looked there.
            checkpoint.history.tracks.forget(had.end);
        }
        // On the run's own clock.
        let line = |count: usize| (count.checked_sub(1)).map(|last| last as f64 * had.every);
        let mut notes = Vec::new();
        let last = line(checkpoint.history.moments());
        if last.is_some_and(|last| last >= had.end) {
            if times.end > had.end && last != Some(had.end) {
                // A run that had this length from the start would have no line of diagnostics there.
                checkpoint.history.forget_last();
            } else if times.end == had.end {
                let time = spec.on_the_clock(had.end);
                notes.push(format!(
                    "the run has already ended, at time {time}; --end extends it"
                ));
            }
        }
        let count = checkpoint.history.moments();
        let recorded = line(count).map(|last| last.min(had.end));
        let reached = recorded.unwrap_or(0.0).max(checkpoint.time);
        if times.end < reached {
            let now = spec.on_the_clock(reached);
            let reason = format!("the checkpoint is at {now} already");
            return Err(Error::value(&end, "--end", reason));
        }
        let again = recorded.is_none_or(|time| checkpoint.time <= time);
        notes.extend(files.go_on(&mut record, ClusterRun::PICTURES, (count, again))?);
        record.extend(START, "end", extended.end);
        let worst = record.value(REPORT, WORST).cloned().unwrap_or_default();
        let worst = serde_json::from_value(worst).ok();
        Ok(Self {
            state: InitialState::Resumed(Box::new(checkpoint), worst),
            times,
            overrides: extended,
            notes,
            warnings: Vec::new(),
            again: again && files.is_missing(count),
            files,
            record: Some(record),
            claim: Some(claim),
            recorded: (recorded, count),
        })
    }

    /// The specification.
    pub fn specification(&self) -> &Specification {
        match &self.state {
            InitialState::Start(start) => start.specification(),
            InitialState::Resumed(checkpoint, _) => &checkpoint.specification,
        }
    }

    /// The time that the run has reached, on its own clock.
    pub fn time(&self) -> f64 {
        match &self.state {
            InitialState::Start(_) => 0.0,
            InitialState::Resumed(checkpoint, _) => checkpoint.time,
        }
    }

    /// Masses, and positions and velocities at some time.
    pub fn bodies(&self) -> Bodies {
        match &self.state {
            InitialState::Start(start) => start.bodies().clone(),
            InitialState::Resumed(checkpoint, _) => bodies_of(&checkpoint.stars),
        }
    }
}

/// A cluster that is recorded.
pub struct ClusterRun<'a> {
    /// The cluster.
    pub cluster: Cluster<'a>,
    times: Times,
    overrides: Overrides,
    monitor: &'a dyn Monitor,
    /// The processes that compute together, which pause together; none without a launcher.
    ranks: Option<Rc<dyn Ranks>>,
    /// Block steps since the beginning of this process.
    blocks: u64,
    /// Where it began in this process.
    began: f64,
    /// Whether this rank records; the others take part in what the engine does.
    leads: bool,
    error: Option<EnergyError>,
    /// The last line of diagnostics.
    last: Option<Line>,
    /// The check of the steps, if there is one.
    check: Option<StepCheck>,
}

/// How the steps of a run are checked: by this number of CPU threads with this instruction set.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckOptions {
    /// Threads; as many as the process may use without a number.
    pub threads: Option<usize>,
    /// The instruction set; the fastest without one.
    pub simd: Option<Simd>,
}

impl PreparedCluster {
    /// Starts the run on these devices, with the steps checked if there are options for it; the notes then tell what is not. `monitor`
    /// ends it.
    ///
    /// # Errors
    /// The engine's.
    pub fn start<'a>(
        self,
        devices: &'a OpenDevices,
        check: Option<CheckOptions>,
        ranks: Option<Rc<dyn Ranks>>,
        monitor: &'a dyn Monitor,
    ) -> Result<(Recorder<ClusterRun<'a>>, Vec<String>), Error> {
        let engine = devices.engine()?;
        let by = devices.block_steps(engine.as_ref(), self.specification());
        let (bodies, began, times) = (self.bodies(), self.time(), self.times);
        let mut notes = self.notes.clone();
        let reported = check.is_some();
        let check = check.filter(|_| ranks.is_none()).and_then(|options| {
            let CheckOptions { threads, simd } = options;
            StepCheck::of(
                self.specification(),
                &bodies,
                [began, times.end],
                threads,
                simd,
            )
        });
        if reported && times.end > began && check.is_none() && Displacements::are_needed(&bodies) {
            notes.push(match ranks {
                None => Displacements::TOO_MANY.into(),
                Some(_) => UNCHECKED_ON_RANKS.into(),
            });
        }
        if check.is_some() && began > 0.0 {
            let reason = "the positions before it were checked by the run that computed them";
            let time = self.specification().on_the_clock(began);
            notes.push(format!("resumed at time {time}: {reason}"));
        }
        let mut history = History::in_folder(&self.files.records_folder()).like(Line {
            binaries: (self.specification().close_pairs).map(|_| Binaries::default()),
            ..Line::default()
        });
        let mut cluster = match self.state {
            InitialState::Start(start) => Cluster::new(&start, engine)?,
            InitialState::Resumed(checkpoint, worst) => {
                let Checkpoint {
                    specification,
                    stars,
                    parts,
                    pairs,
                    time,
                    counters,
                    history: recorded,
                } = *checkpoint;
                history = recorded;
                let mut cluster =
                    Cluster::resumed(specification, stars, parts, time, counters, engine)?;
                cluster.restore_pairs(pairs);
                cluster.remember_abrupt(worst);
                cluster
            }
        };
        cluster.set_block_steps(by)?;
        notes.extend_from_slice(devices.notes());
        let stops = stops(times, &self.files, cluster.stars().len());
        let run = ClusterRun {
            cluster,
            times,
            overrides: self.overrides,
            monitor,
            ranks,
            blocks: 0,
            began,
            leads: self.claim.is_some(),
            error: history.energy_error(None)?,
            last: history.last_moment()?,
            check,
        };
        let kept = (self.record, self.claim);
        let recorded = (self.recorded, self.again);
        let recorder = Recorder::new(run, self.files, history, stops, recorded, kept);
        Ok((recorder, notes))
    }
}

impl ClusterRun<'_> {
    /// All values of the run, given or default.
    pub fn overrides(&self) -> &Overrides {
        &self.overrides
    }

    /// The start, for titles.
    fn start_name(&self) -> String {
        match &self.overrides.input {
            Some(path) => {
                let name = path.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
            None => self.overrides.model.unwrap_or_default().name().into(),
        }
    }

    /// Advances the cluster, and tells the monitor of it.
    fn advance_cluster(
        &mut self,
        to: f64,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<bool, Error> {
        let (monitor, began, end) = (self.monitor, self.began, self.times.end);
        let (ranks, blocks) = (&self.ranks, &mut self.blocks);
        let advanced = self.cluster.advance(to, &mut |now| {
            let share = (now - began) / (end - began);
            monitor.progress((share * PROGRESS_UNITS) as u64, PROGRESS_UNITS as u64);
            let pauses = !go_on(now) || monitor.cancelled();
            *blocks += 1;
            !match ranks {
                None => pauses,
                Some(ranks) => blocks.is_multiple_of(BLOCKS_PER_CHECK) && ranks.any(pauses),
            }
        });
        Ok(advanced?)
    }
}

impl TimeRun for ClusterRun<'_> {
    type State = Vec<Star>;
    type Row = Line;
    const COMMAND: &'static str = "cluster";
    const PICTURES: &'static [&'static str] =
        &["energy", "radii", "steps", "density", "orbits", INNER];
    const SAVES_ROWS: bool = true;
    const OUTLIVES_FAILURES: bool = false;

    fn now(&self) -> f64 {
        self.cluster.time()
    }

    fn shown(&self, time: f64) -> f64 {
        self.cluster.specification().on_the_clock(time)
    }

    fn place(&self) -> [String; 2] {
        let [now, end] = [self.now(), self.times.end].map(|time| self.shown(time));
        [format!("time {now}"), end.to_string()]
    }

    fn is_unfinished(&self, recorded: Option<f64>) -> bool {
        self.now() > 0.0 && recorded.is_none_or(|time| time < self.times.end)
    }

    fn advance(&mut self, to: f64, go_on: &mut dyn FnMut(f64) -> bool) -> Result<bool, Error> {
        // Parts of the run that begin or end before are repeated.
        while let Some(look) = (self.check.as_ref())
            .map(StepCheck::next_look)
            .filter(|look| *look <= to)
        {
            if !self.advance_cluster(look, go_on)? {
                return Ok(false);
            }
            let stars = self.cluster.at(look)?;
            if let Some(check) = &mut self.check {
                check.look(&stars, &mut |_| !self.monitor.cancelled())?;
            }
        }
        self.advance_cluster(to, go_on)
    }

    fn is_cancelled(&mut self) -> bool {
        let here = self.monitor.cancelled();
        self.ranks.as_ref().map_or(here, |ranks| ranks.any(here))
    }

    fn state(&mut self, time: f64) -> Result<Vec<Star>, Error> {
        Ok(self.cluster.at(time)?)
    }

    fn row(&mut self, time: f64, stars: &Vec<Star>) -> Result<Option<Line>, Error> {
        if !self.leads {
            self.cluster.potentials(stars)?;
            return Ok(None);
        }
        let before = self.last.as_ref();
        let line = (self.cluster).line(time, stars, before, &mut self.error)?;
        let total = line.energies().total();
        if !total.is_finite() {
            let when = format!("time {}", line.time);
            return Err(Error::Failed(no_energy(&when, total, &bodies_of(stars))));
        }
        self.last = Some(line.clone());
        Ok(Some(line))
    }

    fn columns(&self, history: &History<Line>) -> Result<Vec<Column<'static>>, Error> {
        let array = |name, unit, values| Column {
            name,
            unit,
            content: Content::Array(values),
        };
        let mut columns = series::columns(history.row());
        let fractions = array("lagrange_fractions", "", SHAPE_FRACTIONS.to_vec());
        let radii = columns.iter().position(|c| c.name == "lagrange_radii");
        columns.insert(radii.map_or(0, |place| place + 1), fractions);
        let counters = self.cluster.counters();
        for (name, counts) in [
            ("active_histogram", &counters.active),
            ("step_histogram", &counters.lengths),
        ] {
            let counts = counts.iter().map(|n| *n as f64).collect();
            columns.push(array(name, COUNT, counts));
        }
        Ok(columns)
    }

    fn checkpoint(
        &self,
        path: &Path,
        history: &mut History<Line>,
        record: Option<&Record>,
    ) -> Result<(), Error> {
        let checkpoint = Checkpoint {
            specification: self.cluster.specification().clone(),
            stars: self.cluster.stars().to_vec(),
            parts: self.cluster.parts().to_vec(),
            pairs: self.cluster.pairs().to_vec(),
            time: self.cluster.time(),
            counters: self.cluster.counters().clone(),
            history: std::mem::take(history),
        };
        let written = checkpoint.write_with(path, record);
        *history = checkpoint.history;
        Ok(written?)
    }

    fn annotate(&self, record: &mut Record) {
        let worst = serde_json::to_value(self.cluster.abrupt());
        record.extend(REPORT, WORST, worst.unwrap_or_default());
    }

    fn write_state(&self, path: &Path, time: f64, stars: &Vec<Star>) -> Result<(), Error> {
        let specification = self.cluster.specification();
        Ok(write_snapshot(path, time, stars, specification)?)
    }

    fn specification(&self) -> String {
        serde_json::to_string(self.cluster.specification()).expect("plain numbers")
    }

    fn names(&self) -> Option<&[String]> {
        self.cluster.specification().names.as_deref()
    }

    fn masses(&self) -> Vec<f64> {
        self.cluster.stars().iter().map(|star| star.mass).collect()
    }

    fn paths(stars: &Vec<Star>, n: usize) -> Vec<[DVec3; 3]> {
        let state = |s: &Star| [s.position(), s.velocity(), s.acceleration()];
        stars.iter().take(n).map(state).collect()
    }

    fn path_time(&self, time: f64) -> (f64, f64) {
        (time, 1.0)
    }

    fn shown_path_time(&self, time: f64) -> f64 {
        self.shown(time)
    }

    fn scene(&self, stars: &Vec<Star>) -> Scene {
        let n = stars.len();
        let centre = (self.last.as_ref()).map_or([0.0; 3], |line| line.centre.to_array());
        let side = ColumnDensity::side_for(&bodies_of(stars), [centre[0], centre[1]]);
        Scene {
            title: format!("{}, {n} particles", self.start_name()),
            units: [UNITS.into(), String::new()],
            bodies: n,
            // Few particles are shown wherever they go; of many, one far away would leave no room for the others.
            window: (n > MAX_NAMED).then_some((centre, side)),
            is_flat: false,
        }
    }

    fn draw(
        &self,
        files: &Files,
        until: f64,
        stars: &Vec<Star>,
        history: &History<Line>,
    ) -> Result<(), Error> {
        let mut lines = Vec::new();
        history.each_moment(|line| lines.push(line.clone()))?;
        let particles = stars.len();
        let axis = |name: &str, unit: &str, division| PlotAxis {
            name: name.into(),
            unit: unit.into(),
            division,
            range: None,
        };
        let spec = self.specification();
        let line = |x, y, name| Series {
            name,
            x,
            y,
            error: None,
            marks: Marks::Both,
        };
        let column = |of: &dyn Fn(&Line) -> f64| lines.iter().map(of).collect::<Vec<f64>>();
        let time = column(&|line| line.time);
        let local = column(&|line| line.error_local.abs());
        let total = column(&|line| line.error.abs());
        let write = |name: &str, what: &str, series: &[Series<'_>], x: PlotAxis, y: PlotAxis| {
            let plot = LinePlot {
                title: format!("{what}, {}, {particles} particles", self.start_name()),
                x,
                y,
                theme: files.theme,
                size: files.size,
            };
            // A plot without values that a logarithmic axis can show is not a failure.
            let shown = |s: &Series<'_>| s.y.iter().any(|y| y.is_finite() && *y > 0.0);
            match files.picture(name).filter(|_| series.iter().any(shown)) {
                Some(path) => plot::lines(path, series, &plot, Some(&spec)),
                None => Ok(()),
            }
        };
        write(
            "energy",
            ENERGY_ERROR,
            &[
                line(&time, &total, "since the start"),
                line(&time, &local, "since the previous line"),
            ],
            axis("time", UNITS, Division::Linear),
            axis("|ΔE/E₀|", "", Division::Logarithmic),
        )?;
        let names = SHAPE_FRACTIONS.map(|f| format!("{} %", 100.0 * f));
        let mut columns = vec![("core", column(&|line| line.core_radius))];
        // There are as many lines as colours.
        for k in [0, 2, 3, 4, 5, 7] {
            columns.push((names[k].as_str(), column(&|line| line.lagrange[k])));
        }
        let radii: Vec<Series<'_>> = columns
            .iter()
            .map(|(name, y)| line(&time, y, name))
            .collect();
        write(
            "radii",
            "Core radius and Lagrange radii",
            &radii,
            axis("time", UNITS, Division::Linear),
            axis("radius", UNITS, Division::Logarithmic),
        )?;
        let counters = self.cluster.counters();
        let longest = self.cluster.specification().max_step;
        let lengths: Vec<f64> = (0..counters.lengths.len())
            .map(|k| longest * 0.5f64.powi(k as i32))
            .collect();
        let shorter = |k: usize| {
            counters.lengths[k..].iter().sum::<u64>() as f64 / counters.steps.max(1) as f64
        };
        let share: Vec<f64> = (0..lengths.len()).map(shorter).collect();
        write(
            "steps",
            "Lengths of time steps",
            &[line(&lengths, &share, "")],
            axis("time step", UNITS, Division::Logarithmic),
            axis(
                "share of steps up to this length",
                "",
                Division::Logarithmic,
            ),
        )?;
        match files.picture("density") {
            Some(path) => self.draw_density(&path, files, until, stars),
            None => Ok(()),
        }
    }

    fn energy_error(&self) -> Option<EnergyError> {
        self.error
    }

    fn displacement(&self) -> Option<Displacement> {
        self.check.as_ref().and_then(StepCheck::largest)
    }

    fn other_warnings(&self, advice: &str) -> Option<String> {
        self.cluster.abrupt_warning(advice)
    }
}

impl ClusterRun<'_> {
    fn draw_density(
        &self,
        path: &Path,
        files: &Files,
        until: f64,
        stars: &[Star],
    ) -> Result<(), Error> {
        let bodies = bodies_of(stars);
        let centre = (self.last.as_ref()).map_or(DVec3::ZERO, |line| line.centre);
        let centre = [centre.x, centre.y];
        let side = ColumnDensity::side_for(&bodies, centre);
        let density = ColumnDensity::of(&bodies, centre, side, DENSITY_CELLS);
        let high = density.values.iter().copied().fold(0.0, f64::max);
        if !(high.is_finite() && high > 0.0) {
            return Ok(());
        }
        let (n, inside) = (bodies.len(), density.inside);
        let shown = match inside == n {
            true => format!("{n} particles"),
            false => format!("{n} particles, {inside} of them in the picture"),
        };
        let axis = |name: &str, centre: f64| Axis {
            name: name.into(),
            unit: UNITS.into(),
            centre,
            span: side,
        };
        let labels = Labels {
            title: format!("{}, {shown}, t = {}", self.start_name(), self.shown(until)),
            x: axis("x", centre[0]),
            y: axis("y", centre[1]),
            y_upwards: true,
            value: "column density, mass per area".into(),
            unit: UNITS.into(),
        };
        let style = PictureStyle {
            colour_map: ColourMap::Inferno,
            range: ColourRange::Fixed(high / DENSITY_RATIO, high),
            spacing: Spacing::Logarithmic,
            theme: files.theme,
            size: files.size,
            ..PictureStyle::default()
        };
        let map = Map::new(&density.values, DENSITY_CELLS, DENSITY_CELLS).upside_down();
        let spec = self.specification();
        Ok(picture::plot(path, &map, &style, &labels, Some(&spec))?)
    }
}
