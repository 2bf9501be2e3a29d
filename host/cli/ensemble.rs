//! The parts that `divergence`, `encounters` and `planets` have in common: an ensemble, its files, and its unfinished computation (`--stream`,
//! `--resume`, `--part`).

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trisolar::ensemble::store::{self, Store};
use trisolar::ensemble::{Ensemble, Executor, Report, Task};
use trisolar::io::IoError;
use trisolar::io::atomic::stage;
use trisolar::run::partial::{Begun, Contents as _, PartialError, name_of, working_files};
use trisolar::run::{
    Claim, EngineError, Monitor, Outputs, Part, Paths, Record, RecordError, RunOptions,
};

use super::Failure;
use super::part;
use super::progress::{Progress, Rest};
use super::ranks::Communicator;
use super::resume::Typed;
use super::unfinished::{done, ended, kept, refuse};

/// The group of the options of outputs in the record of an unfinished computation.
pub(crate) const OUTPUT: &str = "output";

/// Interval at which finished items are saved: the most work that is lost if the program is killed.
const RECORD_INTERVAL: Duration = Duration::from_secs(4);

/// The options of an ensemble's outputs, which the record of an unfinished computation holds.
pub(crate) trait OutputOptions: Paths + Sync {
    /// Names of options, and their headings, that are compared with those of an unfinished computation as parts of the specification.
    const OF_SPECIFICATION: &'static [&'static str];

    /// The files of `--out`.
    fn out(&self) -> &[PathBuf];

    /// The file beside which the values grow, if there are any files: the first npz file, or else the first file.
    fn main(&self) -> Option<&Path> {
        let is_npz = |path: &&PathBuf| path.extension().is_some_and(|e| e == "npz");
        let main = self.out().iter().find(is_npz).or(self.out().first());
        main.map(PathBuf::as_path)
    }

    /// All files that are made from the values, with their options.
    fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let out = self.out().iter();
        out.map(|path| ("--out", path.clone())).collect()
    }

    /// Declares outputs besides `--out` and `--save-config`.
    fn declare(&self, _: &mut Outputs) {}

    /// The file of `--save-config`.
    fn save_config(&self) -> Option<&Path>;

    /// The file of start states.
    fn points(&mut self) -> &mut Option<PathBuf>;

    /// The largest allowed error.
    fn max_error(&mut self) -> &mut Option<f64>;
}

/// The methods of [`OutputOptions`] that return the fields of options under their names.
macro_rules! fields_of_outputs {
    () => {
        fn out(&self) -> &[PathBuf] {
            &self.out
        }

        fn save_config(&self) -> Option<&Path> {
            self.save_config.as_deref()
        }

        fn points(&mut self) -> &mut Option<PathBuf> {
            &mut self.points
        }

        fn max_error(&mut self) -> &mut Option<f64> {
            &mut self.max_error
        }
    };
}
pub(crate) use fields_of_outputs;

/// Where an ensemble comes from, and how it is kept.
#[derive(Clone, Copy)]
pub(crate) struct JobArgs<'a> {
    /// `--points`.
    pub points: &'a Option<PathBuf>,
    /// `--config`.
    pub config: &'a Option<PathBuf>,
    /// `--stream`.
    pub stream: bool,
    /// `--resume`, with a name or without one.
    pub resume: &'a Option<Option<PathBuf>>,
    /// `--part`.
    pub part: Option<Part>,
}

fn refuse_value(path: &Path, option: &str, reason: &str) -> Failure {
    Failure::value(&path.display().to_string(), option, reason)
}

impl JobArgs<'_> {
    /// The computation to resume, if it exists; see `--resume`.
    fn begun<E: Ensemble>(
        &self,
        output: &impl OutputOptions,
    ) -> Result<Option<Begun<E::Contents>>, Failure> {
        let without_out = || {
            let reason = "--stream, --part and --resume keep values beside a file that is to be written: --out is missing";
            Failure::BadInput(reason.into())
        };
        let Some(name) = self.resume else {
            return match output.main().is_none() && (self.stream || self.part.is_some()) {
                true => Err(without_out()),
                false => Ok(None),
            };
        };
        let given = name.as_deref().map(name_of);
        let main = match (&given, output.main()) {
            (Some(name), _) => name.clone(),
            (None, Some(main)) => main.to_owned(),
            (None, None) => return Err(without_out()),
        };
        let refused = |e: PartialError| refuse_value(&main, "--resume", &e.to_string());
        let begun = match Begun::read(&main) {
            // If all options are given again, no record is needed.
            Err(PartialError::Run(RecordError::None { .. })) if given.is_none() => None,
            begun => begun.map_err(refused)?,
        };
        match (begun, given) {
            (None, Some(path)) => {
                let name = E::Contents::NAME;
                let reason = match path.exists() {
                    true => format!("that {name} is complete; there is nothing to resume"),
                    false => format!("there is no unfinished {name} of that name"),
                };
                Err(refuse_value(&path, "--resume", &reason))
            }
            (begun, _) => Ok(begun),
        }
    }

    /// The file of points, also that of a resumed computation.
    pub(crate) fn points_of_the_run<E: Ensemble, O: OutputOptions>(
        &self,
        output: &O,
    ) -> Option<PathBuf> {
        let of_the_begun = || {
            let begun = self.begun::<E>(output).ok().flatten()?;
            let mut kept: O = begun.run.get(OUTPUT).ok()?;
            kept.points().take()
        };
        self.points.clone().or_else(of_the_begun)
    }
}

/// Runs `work` on the devices of these options and of the ranks of this program; `args` and `output` name the points that other ranks need.
pub(crate) fn on_devices<E: Ensemble, O: OutputOptions>(
    options: &RunOptions,
    args: &JobArgs<'_>,
    output: &O,
    work: impl FnOnce(&dyn Executor<E>, &RunOptions) -> Result<(), Failure> + Send,
) -> Result<(), Failure> {
    let communicator = Communicator::join()?;
    let points = || part::points(args.points_of_the_run::<E, _>(output));
    let result = communicator.compute(options, false, &points, |executor, options| {
        executor.check(&options)?;
        work(executor, &options)
    });
    communicator.end(result)
}

/// An ensemble, its files, and its unfinished computation.
pub(crate) struct EnsembleJob<E, O> {
    pub(crate) valid: E,
    pub(crate) output: O,
    /// The file beside which the values grow, if they are streamed.
    pub(crate) streamed: Option<PathBuf>,
    /// Whether an earlier run has begun it.
    pub(crate) begun: bool,
    /// The part of it to compute; `None` for all.
    pub(crate) part: Option<Part>,
    /// Whether the user wants to resume a computation.
    resumes: bool,
    config: Option<PathBuf>,
}

/// The file of an unfinished computation.
pub(crate) struct Kept<E: Ensemble> {
    pub(crate) store: Store<E>,
    /// The items that were missing when the file was opened.
    pub(crate) missing: Vec<Range<u64>>,
    /// Number of items that an earlier run computed, if this run resumes it.
    pub(crate) resumed: Option<u64>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

impl<E: Ensemble> Kept<E> {
    /// The missing items, counted from the first one of the file.
    pub(crate) fn missing_from_first(&self) -> Vec<Range<u64>> {
        let first = self.store.items().start;
        let spans = self.missing.iter();
        spans.map(|s| s.start - first..s.end - first).collect()
    }
}

impl<E: Ensemble, O: OutputOptions> EnsembleJob<E, O> {
    /// The job of the command line, or the one that it resumes. `specify` makes the specification and the largest allowed error from those of
    /// the resumed computation and the file of points; `complete` adds outputs that nobody asked for.
    pub(crate) fn new(
        args: &JobArgs<'_>,
        given: &O,
        typed: &Typed,
        specify: impl FnOnce(Option<&E::Contents>, Option<&Path>) -> Result<(E, Option<f64>), Failure>,
        complete: impl FnOnce(&E, &mut O),
    ) -> Result<Self, Failure> {
        let begun = args.begun::<E>(given)?;
        let mut output = given.clone();
        output.points().clone_from(args.points);
        if let Some(begun) = &begun {
            let mut had: O = begun.run.get(OUTPUT)?;
            let name = args.resume.as_ref().and_then(Option::as_deref);
            let file = name.or(had.main()).unwrap_or(Path::new(""));
            typed.refuse_other_outputs(file, &had, &output, O::OF_SPECIFICATION)?;
            // Changed points are recognised by their checksum, not by the name of their file.
            if args.points.is_some() {
                had.points().clone_from(args.points);
            }
            output = had;
        }
        let under = begun.as_ref().map(|begun| &begun.contents);
        let (valid, most) = specify(under, output.points().as_deref())?;
        if most.is_some() {
            *output.max_error() = most;
        }
        complete(&valid, &mut output);
        let part = args.part.or(begun.as_ref().and_then(|b| b.part));
        let streams = args.stream || args.resume.is_some() || part.is_some();
        let main = output.main().filter(|_| streams);
        Ok(Self {
            streamed: main.map(Path::to_owned),
            part,
            valid,
            output,
            begun: begun.is_some(),
            resumes: args.resume.is_some(),
            config: args.config.clone(),
        })
    }

    /// The file in which it, or its part, grows, with the option that asked for it; if it is streamed.
    fn kept_as(&self) -> Option<(&'static str, PathBuf)> {
        let main = self.streamed.as_ref()?;
        Some(part::kept_as(self.part, main))
    }

    /// Its files, locked for this run. Those of a part are not locked, because only the merged ensemble has them.
    pub(crate) fn claim(&self) -> Result<Claim, Failure> {
        let mut declared = Outputs::new();
        for path in self.output.out() {
            declared.file("--out", path);
        }
        self.output.declare(&mut declared);
        if let Some(path) = self.output.save_config() {
            declared.file("--save-config", path);
        }
        if let Some((option, name)) = self.kept_as() {
            for path in working_files(&name) {
                declared.working(option, &path);
            }
        }
        let points = self.output.clone().points().take();
        for (option, path) in [("--config", &self.config), ("--points", &points)] {
            if let Some(path) = path {
                declared.input(option, path);
            }
        }
        match (self.part, self.kept_as()) {
            (Some(_), Some((_, name))) => part::claim(&declared, &name, self.output.save_config()),
            _ => Ok(declared.claim()?),
        }
    }

    /// The file for the specification, unless an earlier run has written it: its user may have changed the file since.
    pub(crate) fn config_to_save(&self) -> Option<&Path> {
        let path = self.output.save_config()?;
        (!(self.begun && path.exists())).then_some(path)
    }

    /// The file beside `main` in which the values grow.
    pub(crate) fn open(&self, main: &Path) -> Result<Kept<E>, Failure> {
        let (store, resumed) = match self.part {
            Some(part) => self.open_part(main, part)?,
            None => self.open_whole(main)?,
        };
        let (items, missing) = (store.items(), store.missing());
        let mut notes: Vec<String> = store.damage().into_iter().collect();
        if self.resumes && !resumed && self.part.is_none() {
            let name = E::Contents::NAME;
            notes.push(format!(
                "there was no unfinished {name} to resume; a new {name} was begun"
            ));
        }
        Ok(Kept {
            resumed: resumed.then(|| done(&items, &missing)),
            store,
            missing,
            notes,
        })
    }

    /// The record of a run that keeps its values beside `name`.
    fn record(&self, name: &Path) -> Result<Record, Failure> {
        let mut run = Record::new(E::Contents::COMMAND, &working_files(name)[1]);
        run.set(OUTPUT, &self.output)?;
        Ok(run)
    }

    /// The file of all values, and whether an earlier run has begun it.
    fn open_whole(&self, main: &Path) -> Result<(Store<E>, bool), Failure> {
        let outputs = self.output.files();
        let paths = || outputs.iter().map(|(_, path)| path.as_path());
        if self.resumes
            && let Some(store) = store::resume(main, &self.valid).map_err(refuse)?
        {
            if let Some(run) = store.run() {
                for (option, path) in outputs.iter().filter(|(_, path)| !store.is_named(path)) {
                    run.check(option, path)?;
                }
            }
            store.allow_what_is_there(paths()).map_err(refuse)?;
            return Ok((store, true));
        }
        let mut run = self.record(main)?;
        run.allow_what_is_there(paths())?;
        let store = store::begin(main, &self.valid, Some(run)).map_err(refuse)?;
        Ok((store, false))
    }

    /// The file of a part, and whether an earlier run has computed any of it.
    fn open_part(&self, main: &Path, part: Part) -> Result<(Store<E>, bool), Failure> {
        let run = self.record(&part.path(main))?;
        let store = store::part(main, &self.valid, part, Some(run)).map_err(refuse)?;
        if let Some(run) = store.run() {
            part::refuse_others(store.part(), &run.get(OUTPUT)?, &self.output)?;
        }
        let begun = done(&store.items(), &store.missing()) > 0;
        Ok((store, begun))
    }

    /// Computes the missing items. `around` is given the work, and what it adds to the report is returned.
    pub(crate) fn compute<T>(
        &self,
        kept: &Kept<E>,
        executor: &dyn Executor<E>,
        options: &RunOptions,
        progress: Progress,
        quiet: bool,
        around: impl FnOnce(
            &dyn Monitor,
            &dyn Fn() -> Result<Report, EngineError>,
        ) -> Result<T, EngineError>,
    ) -> Result<T, Failure> {
        let Kept { store, missing, .. } = kept;
        let before = done(&store.items(), missing).saturating_mul(self.valid.steps());
        let rest = Rest::new(&progress, before);
        let task = Task::new(&self.valid, missing, store);
        let stream = || executor.stream(&task, options, &rest);
        let (computed, recorded) = store.recording(RECORD_INTERVAL, || around(&rest, &stream));
        progress.finish();
        ended(computed, recorded, &self.hint(kept), quiet)
    }

    /// Writes files that are made from the values. The record holds the checksum of each file before the file appears.
    pub(crate) fn commit<T>(
        &self,
        kept: &Kept<E>,
        write: impl FnOnce() -> Result<T, IoError>,
    ) -> Result<(), Failure> {
        let written = stage(write).map_err(PartialError::from);
        let committed = written.and_then(|(_, files)| kept.store.commit(files));
        committed.map_err(|e| self::kept(e, &self.hint(kept)))
    }

    /// How an interrupted computation goes on.
    pub(crate) fn hint(&self, kept: &Kept<E>) -> String {
        let file = kept.store.part();
        let and = if self.part.is_some() {
            ""
        } else {
            " and --resume"
        };
        format!(
            "the computed {} are kept in {}; resume with the same command{and}, or with\n\
             trisolar {} --resume {}",
            E::Contents::ITEMS,
            file.display(),
            E::Contents::COMMAND,
            name_of(file).display()
        )
    }
}
