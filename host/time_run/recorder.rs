//! Records a run: its series, snapshots, checkpoints, pictures and films, once for all runs.

use std::any::Any;
use std::path::{Path, PathBuf};

use trisolar_bodies::{DVec3, Displacement, EnergyError, Tracks};
use trisolar_io::atomic;
use trisolar_run::{Claim, EngineError, Monitor, Record, Renewal, Unattended};

use super::pictures::{Drawing, MAX_DRAWN, Scene};
use super::series::Column;
use super::stops::{Between, Stops};
use super::{Error, Files, History, Row};

/// A state that is advanced in time, on a clock of its own.
pub trait TimeRun {
    /// All bodies at one time.
    type State;
    /// What a series has of a state.
    type Row: Row;
    /// The command of its runs.
    const COMMAND: &'static str;
    /// The pictures of `--plots`.
    const PICTURES: &'static [&'static str];
    /// Whether each row of the series renews the checkpoint; otherwise it is renewed where it is due.
    const SAVES_ROWS: bool;
    /// Whether it keeps a state from which it can go on even if it fails.
    const OUTLIVES_FAILURES: bool;

    /// The time that it has reached, on its own clock.
    fn now(&self) -> f64;

    /// A time of its own clock as it is shown: on the clock of its start.
    fn shown(&self, time: f64) -> f64;

    /// How far a checkpoint has it, and its end, in words: "step 3" and "10".
    fn place(&self) -> [String; 2];

    /// Whether a checkpoint has more of it than the start and less than all, after its last record at this time.
    fn is_unfinished(&self, recorded: Option<f64>) -> bool;

    /// Advances it to a time; false if it paused before, such as where `go_on` returned false or the monitor ended it.
    ///
    /// # Errors
    /// The engine's.
    fn advance(&mut self, to: f64, go_on: &mut dyn FnMut(f64) -> bool) -> Result<bool, Error>;

    /// Whether the monitor has ended it.
    fn is_cancelled(&mut self) -> bool;

    /// The bodies at a time that it has reached.
    ///
    /// # Errors
    /// The engine's.
    fn state(&mut self, time: f64) -> Result<Self::State, Error>;

    /// The row of the series for a state; `None` if it has no series.
    ///
    /// # Errors
    /// The engine's, or an energy that is not a finite number.
    fn row(&mut self, time: f64, state: &Self::State) -> Result<Option<Self::Row>, Error>;

    /// It goes on from a state that has been recorded before.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    fn resumed(&mut self, _state: &Self::State) -> Result<(), Error> {
        Ok(())
    }

    /// Its present state has been recorded, so that checkpoints may have it.
    fn keep(&mut self) {}

    /// The columns of the file of a series.
    ///
    /// # Errors
    /// The records cannot be read again.
    fn columns(&self, history: &History<Self::Row>) -> Result<Vec<Column<'static>>, Error>;

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// The file cannot be written.
    fn checkpoint(
        &self,
        path: &Path,
        history: &mut History<Self::Row>,
        record: Option<&Record>,
    ) -> Result<(), Error>;

    /// What else the record in a checkpoint has of the run.
    fn annotate(&self, _record: &mut Record) {}

    /// Writes a state.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write_state(&self, path: &Path, time: f64, state: &Self::State) -> Result<(), Error>;

    /// The specification as JSON, for the files.
    fn specification(&self) -> String;

    /// The names of the bodies.
    fn names(&self) -> Option<&[String]>;

    /// The masses of the bodies.
    fn masses(&self) -> Vec<f64>;

    /// Positions, velocities and accelerations of the first `n` bodies; accelerations that are not known are not numbers.
    fn paths(state: &Self::State, n: usize) -> Vec<[DVec3; 3]>;

    /// The time of a state of paths in files, and a unit of its own clock there.
    fn path_time(&self, time: f64) -> (f64, f64);

    /// The same time as it is shown, from that in files.
    fn shown_path_time(&self, time: f64) -> f64 {
        time
    }

    /// What its pictures show.
    fn scene(&self, state: &Self::State) -> Scene;

    /// Draws the pictures of its state at a time and of its series, apart from those of paths.
    ///
    /// # Errors
    /// A picture cannot be written.
    fn draw(
        &self,
        files: &Files,
        time: f64,
        state: &Self::State,
        history: &History<Self::Row>,
    ) -> Result<(), Error>;

    /// The energy error so far, if it is known.
    fn energy_error(&self) -> Option<EnergyError>;

    /// The largest displacement of a body by the errors of the steps, if it is known.
    fn displacement(&self) -> Option<Displacement>;

    /// Other warnings about the accuracy of the run.
    fn other_warnings(&self, _advice: &str) -> Option<String> {
        None
    }
}

/// What the program does beside a run.
pub trait Observer<T: TimeRun> {
    /// Advances the run, see [`TimeRun::advance`].
    ///
    /// # Errors
    /// Those of the run.
    fn advance(
        &mut self,
        run: &mut T,
        to: f64,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<bool, Error> {
        run.advance(to, go_on)
    }

    /// Called in a pause of the run.
    fn paused(&mut self, _run: &mut T) {}

    /// Called for each state that is recorded, with its row of the series if there is one.
    ///
    /// # Errors
    /// The run ends with it.
    fn recorded(
        &mut self,
        _run: &mut T,
        _time: f64,
        _state: &T::State,
        _row: Option<&T::Row>,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Something that lives as long as files are written, for which the end of the program should wait.
    fn patience(&self) -> Box<dyn Any> {
        Box::new(())
    }

    /// Watches the drawing of a film.
    fn film(&self) -> Box<dyn Monitor> {
        Box::new(Unattended)
    }
}

/// Nothing is done beside a run that another rank records.
impl<T: TimeRun> Observer<T> for () {}

/// Records a run.
pub struct Recorder<T: TimeRun> {
    /// The run.
    pub run: T,
    /// Its files.
    pub files: Files,
    /// Its records so far.
    pub history: History<T::Row>,
    /// When it is recorded.
    pub stops: Stops,
    /// The time of the last record, on the run's own clock.
    pub recorded: Option<f64>,
    /// The number of records so far.
    pub count: usize,
    /// Whether the last snapshot has to be written again.
    pub again: bool,
    /// The record in the checkpoint; none on other ranks, which write nothing, and without a checkpoint.
    pub record: Option<Record>,
    /// Keeps the outputs locked; none on other ranks.
    pub claim: Option<Claim>,
    /// Decides when a checkpoint is due.
    pub renewal: Renewal,
    /// The time of the bodies in pictures: the end, or that of an interruption.
    pub until: f64,
}

impl<T: TimeRun> Recorder<T> {
    /// Of a run whose last record has been made at this time, and the number of its records. The last snapshot may have to be written
    /// again.
    pub fn new(
        run: T,
        files: Files,
        history: History<T::Row>,
        stops: Stops,
        ((recorded, count), again): ((Option<f64>, usize), bool),
        (record, claim): (Option<Record>, Option<Claim>),
    ) -> Self {
        Self {
            again,
            until: stops.end,
            run,
            files,
            history,
            stops,
            recorded,
            count,
            record,
            claim,
            renewal: Renewal::default(),
        }
    }

    /// Advances the run to its end, records it on the way, and writes its files.
    ///
    /// # Errors
    /// [`Error`]; [`end_early`](Self::end_early) then saves what was computed.
    pub fn run(&mut self, observer: &mut dyn Observer<T>) -> Result<(), Error> {
        match self.recorded {
            None if !T::SAVES_ROWS => {
                // Written at once, because an older checkpoint of that name belongs to another run.
                self.put(observer, |_| Ok(()))?;
            }
            Some(time) if self.again => {
                let state = self.run.state(time)?;
                self.put(observer, |recorder| recorder.write_snapshot(&state))?;
            }
            _ => {}
        }
        if let Some(time) = self.recorded.filter(|time| self.run.now() <= *time) {
            let state = self.run.state(time)?;
            self.run.resumed(&state)?;
        }
        let mut next = self.stops.from(self.run.now());
        while let Some(stop) = next {
            self.advance(stop.time, observer)?;
            if stop.is_record {
                if self.recorded.is_none_or(|last| last < stop.time) {
                    self.record(stop.time, observer)?;
                }
            } else {
                let state = self.run.state(stop.time)?;
                self.remember(stop.time, &state);
                self.run.keep();
            }
            next = self.stops.after(stop.time);
            if next.is_some() {
                // Where stops follow each other quickly, no advance lasts until the checkpoint is due.
                self.renew(observer)?;
            }
        }
        self.finish(observer)
    }

    /// Advances the run to a time, and renews the checkpoint meanwhile.
    fn advance(&mut self, to: f64, observer: &mut dyn Observer<T>) -> Result<(), Error> {
        loop {
            let due = || self.record.is_some() && self.renewal.is_due();
            if observer.advance(&mut self.run, to, &mut |_| !due())? {
                return Ok(());
            }
            if self.run.is_cancelled() {
                return Err(EngineError::Cancelled.into());
            }
            observer.paused(&mut self.run);
            self.renew(observer)?;
        }
    }

    /// Renews the checkpoint and the series if they are due.
    fn renew(&mut self, observer: &dyn Observer<T>) -> Result<(), Error> {
        match self.record.is_some() && self.renewal.is_due() {
            true => self.put(observer, Self::write_series),
            false => Ok(()),
        }
    }

    /// Records the state at a time.
    fn record(&mut self, time: f64, observer: &mut dyn Observer<T>) -> Result<(), Error> {
        let state = self.run.state(time)?;
        let row = self.run.row(time, &state)?;
        observer.recorded(&mut self.run, time, &state, row.as_ref())?;
        if let Some(row) = &row {
            self.history.add_moment(row)?;
        }
        if self.files.trajectory.is_some() {
            let positions = T::paths(&state, usize::MAX).into_iter();
            let positions: Vec<DVec3> = positions.map(|[position, ..]| position).collect();
            self.history
                .add_positions(self.run.shown(time), &positions)?;
        }
        self.remember(time, &state);
        self.run.keep();
        self.recorded = Some(time);
        self.count += 1;
        match self.files.snapshots.is_some() {
            true => self.put(observer, |recorder| recorder.write_snapshot(&state)),
            false if T::SAVES_ROWS => self.put(observer, |_| Ok(())),
            false => Ok(()),
        }
    }

    /// Records the states of the bodies whose paths are drawn.
    fn remember(&mut self, time: f64, state: &T::State) {
        if !self.files.want_paths() {
            return;
        }
        let drawn = T::paths(state, MAX_DRAWN);
        let (shown, unit) = self.run.path_time(time);
        let tracks = &mut self.history.tracks;
        if tracks.times().is_empty() {
            *tracks = Tracks::new(drawn.len());
        }
        let regular = match (self.stops.between, tracks.times()) {
            // Of states that were too many, every second one has been forgotten, perhaps several times.
            (Between::Multiples(of), [first, second, ..]) => {
                let thinned = ((second - first) / unit / of).round().max(1.0);
                time % (of * thinned) == 0.0
            }
            (Between::Multiples(of), _) => time % of == 0.0,
            (Between::Parts(_), _) => true,
        };
        if regular || time >= self.stops.end {
            tracks.push(shown, drawn.into_iter());
            if matches!(self.stops.between, Between::Multiples(_)) {
                tracks.thin();
            }
        }
    }

    fn write_snapshot(&self, state: &T::State) -> Result<(), Error> {
        let number = self.count.checked_sub(1);
        match (number.and_then(|n| self.files.snapshot(n)), self.recorded) {
            (Some(path), Some(time)) => self.run.write_state(&path, time, state),
            _ => Ok(()),
        }
    }

    /// Writes files, after their checksums have been stored in the checkpoint.
    fn put(
        &mut self,
        observer: &dyn Observer<T>,
        write: impl FnOnce(&Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.claim.is_none() {
            return Ok(());
        }
        let _patience = observer.patience();
        let mut renewal = std::mem::take(&mut self.renewal);
        let result = renewal.renew(|| {
            let ((), staged) = atomic::stage(|| write(self))?;
            if let Some(record) = &mut self.record {
                record.expect(&staged)?;
                self.run.annotate(record);
                let unfinished = self.run.is_unfinished(self.recorded);
                let [now, end] = self.run.place();
                record.set_unfinished(unfinished.then(|| format!("{now} of {end}")));
            }
            self.save()?;
            Ok(staged.commit()?)
        });
        self.renewal = renewal;
        result
    }

    /// Writes the checkpoint, if one is requested.
    fn save(&mut self) -> Result<(), Error> {
        match &self.files.checkpoint {
            Some(path) if self.claim.is_some() => {
                (self.run).checkpoint(path, &mut self.history, self.record.as_ref())
            }
            _ => Ok(()),
        }
    }

    /// Writes all files of the end.
    fn finish(&mut self, observer: &mut dyn Observer<T>) -> Result<(), Error> {
        let last = self.files.want_last_state();
        let state = last.then(|| self.run.state(self.stops.end)).transpose()?;
        self.put(observer, |recorder| {
            for path in &recorder.files.out {
                if let Some(state) = &state {
                    recorder.run.write_state(path, recorder.stops.end, state)?;
                }
            }
            recorder.write_recorded(state.as_ref(), observer)
        })?;
        // The last checkpoint is then the same whether or not the run was interrupted.
        match self.record.as_mut().is_some_and(Record::settle) {
            true => self.save(),
            false => Ok(()),
        }
    }

    /// After a run that ended with this error, writes the checkpoint and, if it was interrupted, what its records give. Returns the files
    /// that show what was computed, or `None` if the run cannot go on from its checkpoint.
    ///
    /// # Errors
    /// Files cannot be written.
    pub fn end_early(
        &mut self,
        error: &Error,
        alone: bool,
        observer: &dyn Observer<T>,
    ) -> Result<Option<Vec<PathBuf>>, Error> {
        let interrupted = matches!(error, Error::Engine(EngineError::Cancelled));
        if !interrupted && !T::OUTLIVES_FAILURES {
            return Ok(None);
        }
        let recorded = self.history.len().max(self.history.tracks.times().len());
        if !interrupted || recorded < 2 {
            self.put(observer, Self::write_series)?;
            return Ok(Some(Vec::new()));
        }
        self.until = self.run.now();
        let drawn = self.files.want_paths() && alone;
        let state = drawn.then(|| self.run.state(self.until)).transpose()?;
        self.put(observer, |recorder| {
            recorder.write_recorded(state.as_ref(), observer)
        })?;
        let files = self.files.results(T::PICTURES).into_iter();
        let files = files.filter(|(option, path)| *option != "--out" && path.exists());
        Ok(Some(files.map(|(_, path)| path).collect()))
    }

    fn write_series(&self) -> Result<(), Error> {
        match &self.files.series {
            Some(path) => {
                let columns = self.run.columns(&self.history)?;
                let specification = self.run.specification();
                Ok(self.history.write_columns(path, &columns, &specification)?)
            }
            None => Ok(()),
        }
    }

    /// Writes everything that is made from the records, and pictures of this state.
    fn write_recorded(
        &self,
        state: Option<&T::State>,
        observer: &dyn Observer<T>,
    ) -> Result<(), Error> {
        self.write_series()?;
        if let Some(path) = &self.files.trajectory {
            let specification = self.run.specification();
            self.history
                .write_trajectory(path, &self.run.masses(), &specification)?;
        }
        let Some(state) = state.filter(|_| self.files.want_paths()) else {
            return Ok(());
        };
        let scene = self.run.scene(state);
        if self.files.plots.is_some() {
            (self.run).draw(&self.files, self.until, state, &self.history)?;
        }
        let drawing = Drawing {
            files: &self.files,
            scene: &scene,
            names: self.run.names(),
            tracks: &self.history.tracks,
            shown: &|time| self.run.shown_path_time(time),
            film: &|| observer.film(),
        };
        drawing.draw(&self.run.specification())
    }

    /// Draws the records so far into other files, of which it returns those that there are then. The run is not advanced, and writes no
    /// other file.
    ///
    /// # Errors
    /// [`Error`] if nothing was recorded that can be drawn, or if a file cannot be written.
    pub fn draw_again(
        mut self,
        files: Files,
        observer: &dyn Observer<T>,
    ) -> Result<Vec<PathBuf>, Error> {
        if self.history.tracks.times().is_empty() {
            let reason = "the run has recorded nothing that can be drawn; with --plots or --film it records what pictures need";
            return Err(Error::Input(reason.into()));
        }
        // Its own outputs may be in the same folder.
        self.claim = None;
        self.claim = Some(files.claim(&[])?);
        (self.files, self.record) = (files, None);
        self.until = self.run.now();
        let state = self.run.state(self.until)?;
        self.put(observer, |recorder| {
            recorder.write_recorded(Some(&state), observer)
        })?;
        Ok(self.written())
    }

    /// The files that were written, without snapshots. A picture that has nothing to show is not written.
    pub fn written(&self) -> Vec<PathBuf> {
        let results = self.files.results(T::PICTURES).into_iter();
        let results = results.map(|(_, path)| path);
        let others = [&self.files.checkpoint, &self.files.save_config];
        let files = results.chain(others.into_iter().flatten().cloned());
        files.filter(|path| path.exists()).collect()
    }

    /// The snapshots that were written.
    pub fn snapshots(&self) -> Vec<PathBuf> {
        let numbers = 0..self.count;
        numbers
            .filter_map(|number| self.files.snapshot(number))
            .collect()
    }

    /// The columns of the series that are not numbers at some record, if it is written.
    ///
    /// # Errors
    /// The records cannot be read again.
    pub fn undefined_columns(&self) -> Result<Vec<&'static str>, Error> {
        match self.files.series {
            Some(_) => Ok(self.history.undefined_columns()?),
            None => Ok(Vec::new()),
        }
    }

    /// Warnings about the accuracy of the run; `advice` tells the user what to do.
    pub fn warnings(&self, advice: &str) -> Vec<String> {
        let error = self.run.energy_error();
        let displaced = self.run.displacement();
        let energy = error.and_then(|error| error.warning(advice));
        let displaced = displaced.and_then(|found| found.warning(self.run.names(), advice));
        let other = self.run.other_warnings(advice);
        other.into_iter().chain(energy).chain(displaced).collect()
    }

    /// Fails if an error exceeds the user's limit.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn check(&self, most: Option<f64>) -> Result<(), Error> {
        let energy = self.run.energy_error();
        let energy = energy.map_or(Ok(()), |error| error.check(most));
        let displaced = self.run.displacement();
        let checked = energy
            .and_then(|()| displaced.map_or(Ok(()), |found| found.check(most, self.run.names())));
        checked.map_err(Error::Failed)
    }
}
