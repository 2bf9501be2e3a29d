//! The command of all sequences, which are zooms and sweeps of maps and of ensembles of records: a folder of frames, their computation, and the
//! report. A sequence is its [`Description`] with the [`SequenceOptions`] of its ensemble.

use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trisolar::ensemble::Executor;
use trisolar::io::atomic::{stage, write_with};
use trisolar::io::picture::{Theme, YDirection};
use trisolar::io::{IoError, PictureFormat};
use trisolar::run::{Claim, Outputs, Part, Paths, Record, RunOptions};
use trisolar::zoom::animation::Animation;
use trisolar::zoom::{
    self, DATASET, Folder, FolderError, Frame, Framed, NAMES, Outcome, SequenceParameter, Settings,
    Style, Vary, short,
};

use super::cpu_args::warn_of_one_lane;
use super::part::{self, PartArgs};
use super::progress::Progress;
use super::ranks::Communicator;
use super::report::{self, Common, Lines};
use super::resume::{Resumed, Typed, differing_options, with_paths};
use super::{Failure, divergence, films, interrupt, unfinished};

/// The group of options in the record of a sequence.
const OPTIONS: &str = "sequence";

/// Options about the folder of a sequence.
#[derive(Debug, clap::Args)]
pub(crate) struct FolderArgs {
    /// Read the specification from a TOML file; options on the command line override it
    #[arg(long, value_name = "FILE.toml", help_heading = "Files")]
    pub(crate) config: Option<PathBuf>,
    /// Replace the frames of another sequence in the folder instead of refusing to
    #[arg(long, help_heading = "Files")]
    restart: bool,
    /// Resume the sequence in a folder with all its options; options of the sequence that are given again must have the same
    /// values. (The previous command also resumes it.)
    #[arg(long, value_name = "FOLDER", help_heading = "Files", conflicts_with_all = ["restart", "config"])]
    resume: Option<PathBuf>,
    /// Write the whole specification, of which the frames are variations, to a TOML file, for --config
    #[arg(long, value_name = "FILE.toml", help_heading = "Files")]
    save_config: Option<PathBuf>,
    #[command(flatten)]
    part: PartArgs,
}

/// Options about films of the frames.
#[derive(Debug, clap::Args)]
pub(crate) struct FilmArgs {
    /// Make a film of the frames: .gif or .webp (both lossless), or .mp4 (smaller; needs ffmpeg); can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    pub(crate) film: Vec<PathBuf>,
    /// Frames per second of the film, 0.1 to 60
    #[arg(long, value_name = "RATE", help_heading = "Files", default_value = "30", value_parser = films::rate)]
    pub(crate) fps: f64,
}

/// Options about the pictures of a sequence, which its description holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
pub(crate) struct LookArgs {
    /// Format of pictures with axes: png, svg or pdf
    #[arg(long, value_name = "NAME", help_heading = "Picture", default_value_t = PictureFormat::Png)]
    #[serde(default)]
    pub(crate) plot_format: PictureFormat,
    /// Background of pictures with axes: dark or light
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Picture",
        default_value = "dark"
    )]
    #[serde(default)]
    pub(crate) theme: Theme,
    /// Direction of the vertical axis of maps: down or up [default: up]
    #[arg(long, value_name = "NAME", help_heading = "Picture")]
    #[serde(default = "divergence::down")]
    pub(crate) y_axis: Option<YDirection>,
}

/// Options about the pictures of a zoom, which have no axes unless they are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
pub(crate) struct ZoomLookArgs {
    /// Draw every frame with axes, title and the meaning of the colours, instead of one pixel per pixel of the map. Such frames make
    /// no film
    #[arg(long, help_heading = "Picture")]
    #[serde(default)]
    pub(crate) axes: bool,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) look: LookArgs,
}

impl ZoomLookArgs {
    /// Takes over those that were typed.
    pub(crate) fn take_over(&mut self, typed: &Typed, here: &Self) {
        if typed.has("axes") {
            self.axes = here.axes;
        }
        if typed.has("plot_format") {
            self.look.plot_format = here.look.plot_format;
        }
        if typed.has("theme") {
            self.look.theme = here.look.theme;
        }
        if typed.has("y_axis") {
            self.look.y_axis = here.look.y_axis;
        }
    }

    /// Refuses what frames without axes, or with them, cannot be.
    pub(crate) fn check(&self, films: &[PathBuf]) -> Result<(), Failure> {
        let LookArgs {
            plot_format, theme, ..
        } = self.look;
        if self.axes {
            let Some(film) = films.first() else {
                return Ok(());
            };
            let reason = "films are made of frames without axes; remove --axes, or draw the frames with axes in another folder";
            return Err(Failure::value(
                &film.display().to_string(),
                "--film",
                reason,
            ));
        }
        if plot_format != PictureFormat::Png {
            let reason = "frames without axes are pixels for films, which only png can hold; add --axes for frames with lines and texts";
            return Err(Failure::value(
                &plot_format.to_string(),
                "--plot-format",
                reason,
            ));
        }
        if theme != Theme::default() {
            let reason = "frames without axes have no background; add --axes";
            return Err(Failure::value(&theme.to_string(), "--theme", reason));
        }
        Ok(())
    }
}

/// The films at these paths, which can be written.
fn films(paths: &[PathBuf]) -> Result<Vec<Animation>, Failure> {
    let film = |path: &PathBuf| Animation::new(path).map_err(|e| films::refused(path, &e));
    paths.iter().map(film).collect()
}

/// Makes the films of a sequence of this many frames.
fn make_films(
    films: &[Animation],
    folder: &Folder,
    frames: usize,
    rate: f64,
) -> Result<(), Failure> {
    for film in films {
        interrupt::check()?;
        let ((), files) = stage(|| film.write(folder, frames as u32, rate))?;
        folder.commit(files)?;
    }
    Ok(())
}

/// The names of a sweep's parameters.
pub(crate) fn names<P: SequenceParameter>(vary: &[String]) -> Vec<String> {
    let all = vary.iter().filter_map(|text| text.parse::<Vary<P>>().ok());
    all.map(|vary| vary.parameter.to_string()).collect()
}

/// The values of a sweep's parameters.
pub(crate) fn varied<P: SequenceParameter>(texts: &[String]) -> Result<Vec<Vary<P>>, Failure> {
    let parsed = texts.iter().map(|text| {
        text.parse()
            .map_err(|e: String| Failure::value(text, "--vary", &e))
    });
    let vary: Vec<Vary<P>> = parsed.collect::<Result<_, _>>()?;
    Vary::check(&vary)
        .map_err(|(parameter, reason)| Failure::value(&parameter.to_string(), "--vary", &reason))?;
    Ok(vary)
}

/// What varies in a sweep, in words.
pub(crate) fn ranges<P: SequenceParameter>(vary: &[Vary<P>]) -> String {
    let range = |vary: &Vary<P>| {
        let [first, last] = [vary.values.first(), vary.values.last()]
            .map(|value| short(value.copied().unwrap_or_default()));
        format!("{} from {first} to {last}", vary.parameter)
    };
    match vary {
        [rows, columns] => format!(
            "{} down the rows, {} along the columns",
            range(rows),
            range(columns)
        ),
        all => all.iter().map(range).collect::<Vec<_>>().join(", "),
    }
}

/// The frames of a sweep.
pub(crate) fn swept<B: zoom::Base>(
    base: &B,
    vary: &[Vary<B::Parameter>],
) -> Result<Vec<Frame<B::Validated>>, Failure> {
    zoom::sweep(base, vary).map_err(|e| {
        let (parameter, value) = blamed(vary, base, e.frame);
        let given = format!("{parameter}={}", short(value));
        Failure::value(&given, "--vary", &e.reason)
    })
}

/// For a frame that cannot be computed, the parameter that causes it: the one whose value alone is not allowed.
fn blamed<B: zoom::Base>(vary: &[Vary<B::Parameter>], base: &B, frame: u32) -> (B::Parameter, f64) {
    let mut rest = frame as usize;
    let mut settings = Vec::new();
    for Vary { parameter, values } in vary.iter().rev() {
        settings.push((*parameter, values[rest % values.len()]));
        rest /= values.len();
    }
    let alone = |(parameter, value): &&(B::Parameter, f64)| {
        let mut specification = base.clone();
        let set = specification.set(*parameter, *value);
        set.is_err() || specification.checked().is_err()
    };
    *settings.iter().find(alone).unwrap_or(&settings[0])
}

/// Largest number of frames that a summary lists.
const MAX_LISTED_FRAMES: usize = 20;

fn checkpoint(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("must be from 0.1 to 86400 seconds".into()),
    }
}

impl FolderArgs {
    /// The run of `command` in the folder of `--resume`: its record and its options.
    fn resumed<T: Paths>(&self, command: &str, folder: &Path) -> Result<(Record, T), Failure> {
        let refuse = |e: &dyn Display| {
            Failure::value(&folder.display().to_string(), "--resume", &e.to_string())
        };
        let record = Folder::run_of(folder, command).map_err(|e| refuse(&e))?;
        let options = record.get(OPTIONS).map_err(|e| refuse(&e))?;
        Ok((record, options))
    }

    /// Refuses options given with `--resume FOLDER` that differ from those of the sequence. Those under the headings and names
    /// `elsewhere` are checked by others.
    fn refuse_others<T: Paths>(
        typed: &Typed,
        folder: &Path,
        [has, given]: [&T; 2],
        out: &Path,
        elsewhere: &[&str],
    ) -> Result<(), Failure> {
        let with_out = |options: &T, out: &Path| {
            let mut map = with_paths(options);
            let out = trisolar::run::resolved(out);
            map.insert("out".into(), json!(out.to_string_lossy()));
            // Descriptions have the rules of --schedule under its older name.
            if let Some(rules) = map.get("set").cloned() {
                map.insert("schedule".into(), rules);
            }
            map
        };
        typed.refuse_others(&Resumed {
            file: folder,
            has: with_out(has, folder),
            given: with_out(given, out),
            extends: &[],
            elsewhere,
        })
    }

    /// The refusal of a folder whose sequence has other values.
    fn differs(folder: &Path, what: &str) -> Failure {
        let reason = format!("it holds another sequence: {what} differs");
        Failure::value(&folder.display().to_string(), "--resume", &reason)
    }

    /// The part of the sequence to compute, also that of a resumed one; `None` for all of it.
    fn part(&self) -> Result<Option<Part>, Failure> {
        match &self.resume {
            Some(folder) => Ok(Folder::part_of(folder)?),
            None => Ok(self.part.part),
        }
    }

    /// The folder of a new sequence, or of its part, whose whole is in the folder `out`.
    fn of(&self, out: &Path) -> PathBuf {
        let part = self.part.part;
        part.map_or_else(|| out.to_owned(), |part| part.path(out))
    }

    /// Checks and locks the folder of a sequence, the file of `--save-config`, and films. A part writes none of these files, but the merged
    /// sequence does.
    fn claim(
        &self,
        folder: &Path,
        part: Option<Part>,
        films: &[Animation],
    ) -> Result<Claim, Failure> {
        let config = self.save_config.as_deref();
        let config = config.map(|path| ("--save-config", path));
        let films = films.iter().map(|film| ("--film", film.path()));
        let files: Vec<_> = config.into_iter().chain(films).collect();
        let declared = |files: &[(&str, &Path)]| {
            let mut outputs = Outputs::new();
            outputs.folder("--out", folder, NAMES);
            if let Some(path) = &self.config {
                outputs.input("--config", path);
            }
            for (option, path) in files {
                outputs.file(option, path);
            }
            outputs
        };
        let all = declared(&files);
        if part.is_none() {
            return Ok(all.claim()?);
        }
        all.check()?;
        all.remove_abandoned();
        Ok(declared(&[]).claim()?)
    }

    /// The options of the sequence that `command` began in a folder, unless it will be replaced.
    fn begun<T: Paths>(&self, command: &str, folder: &Path) -> Option<T> {
        if self.restart {
            return None;
        }
        // Whatever else is in the folder is refused when it is opened.
        let record = Folder::run_of(folder, command).ok()?;
        record.get(OPTIONS).ok()
    }

    /// The folder of a sequence. `differing` are the options in which an earlier sequence in the folder differs from this one.
    fn open(
        &self,
        path: &Path,
        contents: &Value,
        record: Record,
        differing: &[String],
        part: Option<Part>,
    ) -> Result<Folder, Failure> {
        let contents = match part {
            Some(part) => &Folder::contents_of_part(contents.clone(), part),
            None => contents,
        };
        let folder = Folder::open_for(path, contents, Some(record), self.restart);
        folder.map_err(|error| match error {
            FolderError::Io(error @ IoError::DiskFull { .. }) => error.into(),
            FolderError::Io(error) => {
                Failure::value(&path.display().to_string(), "--out", &error.to_string())
            }
            FolderError::Different { path, what } => {
                // The options are what the user knows.
                let what = if differing.is_empty() {
                    what
                } else {
                    differing.join(", ")
                };
                Failure::BadInput(FolderError::Different { path, what }.to_string())
            }
            error => Failure::BadInput(error.to_string()),
        })
    }

    /// The failure that ended the sequence. After an interruption it prints how to resume.
    fn ended(error: zoom::Error, command: &str, folder: &Folder, quiet: bool) -> Failure {
        let failure = Failure::from(error);
        if matches!(failure, Failure::Interrupted) && !quiet {
            let folder = folder.path().display();
            report::to_stderr(&format!(
                "note: the computed frames are kept in {folder}; resume with the same command, or with\n\
                 trisolar {command} --resume {folder}"
            ));
        }
        failure
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<zoom::Error> for Failure {
    fn from(error: zoom::Error) -> Self {
        match error {
            zoom::Error::Engine(error) => error.into(),
            zoom::Error::Io(error) => error.into(),
            zoom::Error::Records(error) => unfinished::refuse(error),
        }
    }
}

/// The options of every sequence about its computation and its report.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Approximate time between two records of an unfinished frame on the disk, 0.1 to 86400 (seconds), which is how much a killed run
    /// can lose
    #[arg(long, value_name = "SECONDS", help_heading = "Computation", default_value = "30", value_parser = checkpoint)]
    checkpoint: Duration,

    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    quiet: bool,
}

/// The options of the sequences of an ensemble.
pub(crate) trait SequenceOptions: Sync {
    /// The ensemble.
    type Of: Framed<Summary: Serialize>;
    /// The specification of which the frames are variations, as the description of a sequence has it.
    type Base: Sync;

    /// What frames hold, such as `maps`.
    const ITEMS: &'static str;
    /// What is counted, such as `pixel-steps`.
    const STEPS: &'static str;
    /// The unit of the rate.
    const RATE_UNIT: &'static str;
    /// Headings and names of options that [`differences`](Self::differences) compares.
    const OF_SPECIFICATION: &'static [&'static str];
    /// Whether frames are computed on one GPU each, in turn.
    const IN_TURN: bool;
    /// Whether found warnings are in the summary; otherwise they are printed when all frames are computed.
    const WARNS_IN_SUMMARY: bool;

    /// The options about the folder.
    fn folder(&self) -> &FolderArgs;

    /// The options about the run.
    fn run_args(&self) -> &RunArgs;

    /// The options of a computation on the devices.
    fn devices(&self) -> RunOptions;

    /// Frames computed at a time.
    fn in_flight(&self, _processes: usize) -> usize {
        1
    }

    /// The options in which two specifications differ, with both values.
    fn differences(there: &Self::Base, here: &Self::Base) -> Vec<String>;

    /// Writes the specification of which the frames are variations.
    fn save_config(&self, path: &Path, base: &Self::Base, most: Option<f64>)
    -> Result<(), Failure>;

    /// The specification of a frame as JSON.
    fn specification(frame: &Frame<Self::Of>) -> Value;

    /// Adds the look of pictures to the description of a sequence, on which its frames depend.
    fn describe_pictures(_: &mut Value, _: &[Frame<Self::Of>], _: &Style) {}

    /// Warnings known before the run: reasons why the frames may not be what the user intended.
    fn known_warnings(_: &[Frame<Self::Of>]) -> Vec<String> {
        Vec::new()
    }

    /// Warnings found during the run.
    fn found_warnings(outcome: &OutcomeOf<Self>) -> Vec<String>;

    /// Notes about the results.
    fn advice(_: &[Frame<Self::Of>], _: &OutcomeOf<Self>) -> Option<String> {
        None
    }

    /// The largest errors of all frames.
    fn errors(outcome: &OutcomeOf<Self>) -> Value;

    /// Checks that no frame has a larger error than the user allows.
    fn check(summary: &SummaryOf<Self>, most: Option<f64>) -> Result<(), String>;

    /// Adds the failures of all frames to the summary.
    fn add_failures(_: &OutcomeOf<Self>, _: &mut Lines) {}
}

/// The summary of a frame of a sequence with these options.
type SummaryOf<A> = <<A as SequenceOptions>::Of as Framed>::Summary;
/// The outcome of a sequence with these options.
type OutcomeOf<A> = Outcome<SummaryOf<A>>;
/// The ensemble of a sequence.
pub(crate) type Of<D> = <<D as Description>::Options as SequenceOptions>::Of;
/// The specification of which the frames of a sequence are variations.
type BaseOf<D> = <<D as Description>::Options as SequenceOptions>::Base;
/// The outcome of a sequence.
pub(crate) type DescribedOutcome<D> = OutcomeOf<<D as Description>::Options>;

/// The description of a sequence, which `sequence.json` holds.
pub(crate) trait Description: Paths {
    /// The options of the sequences of its ensemble.
    type Options: SequenceOptions;
    /// The command.
    const COMMAND: &'static str;

    /// The specification of which the frames are variations.
    fn base(&self) -> &BaseOf<Self>;

    /// The largest error that is allowed.
    fn max_error(&mut self) -> &mut Option<f64>;

    /// Takes those typed options in which a resumed sequence may differ.
    fn take_over(&mut self, _: &Typed, _here: &Self) {}

    /// The options in which a run may differ from the one that began the sequence.
    fn may_differ(frames: &[Frame<Of<Self>>]) -> Vec<&'static str>;

    /// The look of the files.
    fn style(&self) -> Style;

    /// The films and their rate.
    fn films(&self) -> (&[PathBuf], f64) {
        (&[], 1.0)
    }

    /// The kind of the sequence, on which its frames depend.
    fn kind(&self) -> Value;

    /// The frames.
    fn frames(&self) -> Result<Vec<Frame<Of<Self>>>, Failure>;

    /// Whether the names of the frames' files have the values of their parameters.
    fn is_named_by_values(&self) -> bool {
        false
    }

    /// Refuses options that cannot go together.
    fn check(&self, _: &[Frame<Of<Self>>], _: Option<Part>) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes over options of the sequence that was begun in the folder at this path, or refuses to go on with it.
    fn go_on(&mut self, _begun: &Self, _: &Path, _: &[Frame<Of<Self>>]) -> Result<(), Failure> {
        Ok(())
    }

    /// Computes and writes the frames that are missing.
    fn compute(
        &self,
        executor: &dyn Executor<Of<Self>>,
        frames: &[Frame<Of<Self>>],
        folder: &Folder,
        settings: &Settings,
        progress: &Progress,
    ) -> Result<DescribedOutcome<Self>, zoom::Error> {
        zoom::run_on(executor, frames, folder, settings, progress)
    }

    /// Writes the files of the whole sequence besides films.
    fn complete(&self, _: &mut Ended<'_, Self>) -> Result<(), Failure> {
        Ok(())
    }

    /// Adds more values to the report.
    fn add_to(&self, _: &mut Value, _: &Ended<'_, Self>) {}

    /// The summary, which begins with these lines.
    fn summary(&self, lines: Lines, ended: &Ended<'_, Self>) -> String;
}

/// A sequence whose frames are computed.
pub(crate) struct Ended<'a, D: Description> {
    pub(crate) frames: &'a [Frame<Of<D>>],
    pub(crate) folder: &'a Folder,
    pub(crate) outcome: DescribedOutcome<D>,
    style: Style,
    /// The files that are made of all frames, with words for them.
    pub(crate) files: Vec<(&'static str, PathBuf)>,
}

/// Computes the missing frames of a sequence, and then its other files. `base` makes the specification and the largest allowed error, those
/// of the sequence that is resumed if there is one, and `describe` the sequence. `out` is the folder of a new sequence.
pub(crate) fn run<D: Description>(
    args: &D::Options,
    typed: &Typed,
    out: &Path,
    base: impl Fn(Option<&BaseOf<D>>) -> Result<(BaseOf<D>, Option<f64>), Failure> + Sync,
    describe: impl Fn(BaseOf<D>, Option<f64>) -> Result<D, Failure> + Sync,
) -> Result<(), Failure> {
    let communicator = Communicator::join()?;
    let in_turn = D::Options::IN_TURN;
    let lead = |executor: &dyn Executor<Of<D>>, options: RunOptions| {
        executor.check(&options)?;
        let described = described(args, typed, out, &base, &describe)?;
        run_on(args, described, executor, options)
    };
    let result = communicator.compute(&args.devices(), in_turn, &|| part::points(None), lead);
    communicator.end(result)
}

/// A sequence, its folder, and the record of a resumed one.
type Described<D> = (D, PathBuf, Option<Record>);

/// The sequence of these options.
fn described<D: Description>(
    args: &D::Options,
    typed: &Typed,
    out: &Path,
    base: &impl Fn(Option<&BaseOf<D>>) -> Result<(BaseOf<D>, Option<f64>), Failure>,
    describe: &impl Fn(BaseOf<D>, Option<f64>) -> Result<D, Failure>,
) -> Result<Described<D>, Failure> {
    let folder = args.folder();
    let Some(path) = &folder.resume else {
        let (base, most) = base(None)?;
        return Ok((describe(base, most)?, folder.of(out), None));
    };
    let (record, mut sequence): (_, D) = folder.resumed(D::COMMAND, path)?;
    let (given, most) = base(Some(sequence.base()))?;
    let differences = D::Options::differences(sequence.base(), &given);
    if !differences.is_empty() {
        return Err(FolderArgs::differs(path, &differences.join(", ")));
    }
    let most = most.or(*sequence.max_error());
    *sequence.max_error() = most;
    let here = describe(given, most)?;
    sequence.take_over(typed, &here);
    let elsewhere = D::Options::OF_SPECIFICATION;
    FolderArgs::refuse_others(typed, path, [&sequence, &here], out, elsewhere)?;
    Ok((sequence, path.clone(), Some(record)))
}

fn run_on<D: Description>(
    args: &D::Options,
    (mut sequence, path, before): Described<D>,
    executor: &dyn Executor<Of<D>>,
    options: RunOptions,
) -> Result<(), Failure> {
    let RunArgs {
        checkpoint,
        json,
        quiet,
    } = *args.run_args();
    let frames = sequence.frames()?;
    let part = args.folder().part()?;
    let begun = args.folder().begun::<D>(D::COMMAND, &path);
    if let Some(begun) = &begun {
        sequence.go_on(begun, &path, &frames)?;
    }
    sequence.check(&frames, part)?;
    let most = *sequence.max_error();
    let (paths, rate) = sequence.films();
    let films = films(paths)?;
    let _claim = args.folder().claim(&path, part, &films)?;
    let style = sequence.style();
    let settings = Settings {
        style,
        options,
        in_flight: args.in_flight(executor.processes()),
        checkpoint,
        part,
    };
    let folder = open(
        args,
        &sequence,
        &path,
        &frames,
        before.as_ref(),
        &films,
        begun,
        part,
    )?;
    interrupt::watch()?;
    if let Some(path) = &args.folder().save_config {
        args.save_config(path, sequence.base(), most)?;
    }
    if !quiet {
        warn(&D::Options::known_warnings(&frames));
        warn_of_one_lane(options.backend);
    }
    let progress = Progress::new(D::COMMAND.rsplit(' ').next().unwrap_or_default(), quiet);
    // After Ctrl-C what has ended of a frame on all devices is brought back and written down.
    let patient = (!D::Options::IN_TURN).then(interrupt::patient);
    let computed = sequence.compute(executor, &frames, &folder, &settings, &progress);
    drop(patient);
    progress.finish();
    let mut outcome = computed.map_err(|e| FolderArgs::ended(e, D::COMMAND, &folder, quiet))?;
    if !quiet && !D::Options::WARNS_IN_SUMMARY {
        warn(&D::Options::found_warnings(&outcome));
    }
    let check = |outcome: &DescribedOutcome<D>| {
        (outcome.first..)
            .zip(&outcome.summaries)
            .try_for_each(|(frame, summary)| {
                let checked = D::Options::check(summary, most);
                checked.map_err(|reason| Failure::Failed(format!("frame {frame}: {reason}")))
            })
    };
    let advice = D::Options::advice(&frames, &outcome);
    outcome.effort.notes.extend(advice);
    let mut ended = Ended::<D> {
        frames: &frames,
        folder: &folder,
        outcome,
        style,
        files: paths.iter().map(|path| ("film", path.clone())).collect(),
    };
    if let Some(part) = part {
        if json {
            let mut object = ended.object();
            part::add(Some(part), &mut object);
            report::json(&object)?;
        } else if !quiet {
            let mut lines = lines::<D::Options>(&ended.outcome);
            lines.add_whole("folder", &folder.path().display().to_string());
            let whole = part.whole(folder.path());
            let whole = whole.unwrap_or_else(|| folder.path().to_owned());
            part::add_lines(part, &whole, "", &mut lines);
            report::to_stdout(lines.as_str())?;
        }
        return check(&ended.outcome);
    }
    make_films(&films, &folder, frames.len(), rate)?;
    sequence.complete(&mut ended)?;
    if json {
        let mut object = ended.object();
        sequence.add_to(&mut object, &ended);
        let files: Vec<_> = ended.files.iter().map(|(_, path)| path.clone()).collect();
        report::add_files(&mut object, &files);
        report::json(&object)?;
    } else if !quiet {
        report::to_stdout(&sequence.summary(lines::<D::Options>(&ended.outcome), &ended))?;
    }
    check(&ended.outcome)
}

/// The warnings known before the run and found during it.
pub(crate) fn all_warnings<A: SequenceOptions>(
    frames: &[Frame<A::Of>],
    outcome: &OutcomeOf<A>,
) -> Vec<String> {
    [A::known_warnings(frames), A::found_warnings(outcome)].concat()
}

/// The warnings in the summary.
fn warnings_in_summary<A: SequenceOptions>(outcome: &OutcomeOf<A>) -> Vec<String> {
    match A::WARNS_IN_SUMMARY {
        true => A::found_warnings(outcome),
        false => Vec::new(),
    }
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        report::to_stderr(&format!("warning: {warning}"));
    }
}

/// Opens the folder of a sequence, which may write its films. `before` is the record of a resumed sequence, and `begun` the sequence
/// that the folder has.
#[allow(clippy::too_many_arguments)]
fn open<D: Description>(
    args: &D::Options,
    sequence: &D,
    path: &Path,
    frames: &[Frame<Of<D>>],
    before: Option<&Record>,
    films: &[Animation],
    begun: Option<D>,
    part: Option<Part>,
) -> Result<Folder, Failure> {
    let mut record = Record::new(D::COMMAND, &path.join("sequence.json"));
    record.set(OPTIONS, sequence)?;
    for film in films {
        before.map_or(Ok(()), |before| before.check("--film", film.path()))?;
    }
    record.allow_what_is_there(films.iter().map(Animation::path))?;
    let set: Vec<_> = frames.iter().map(|f| &f.set).collect();
    let mut contents = json!({
        "command": sequence.kind(),
        "number_of_maps": frames.len(),
        "first_specification": frames.first().map(D::Options::specification),
        "values": set,
    });
    D::Options::describe_pictures(&mut contents, frames, &sequence.style());
    let differing = begun.map_or_else(Vec::new, |there| {
        let mut all = D::Options::differences(there.base(), sequence.base());
        all.extend(differing_options(&there, sequence, &D::may_differ(frames)));
        all
    });
    let folder = args
        .folder()
        .open(path, &contents, record, &differing, part)?;
    Ok(match sequence.is_named_by_values() {
        true => folder.named_by_values(frames),
        false => folder,
    })
}

/// The first lines of the summary.
fn lines<A: SequenceOptions>(outcome: &OutcomeOf<A>) -> Lines {
    let mut lines = Lines::default();
    let effort = &outcome.effort;
    let (all, new) = (outcome.summaries.len(), outcome.computed);
    if new > 0 {
        lines.add("engine", &format!("{}: {}", effort.engine, effort.device));
    }
    let before = match all as u64 - u64::from(new) {
        0 => String::new(),
        n => format!(", {n} finished before"),
    };
    lines.add(A::ITEMS, &format!("{all}{before}"));
    if new > 0 {
        let seconds = outcome.elapsed.as_secs_f64();
        let each = seconds / f64::from(new);
        lines.add(A::STEPS, &report::grouped(effort.steps));
        lines.add(
            "time",
            &format!("{}, {} each", report::time(seconds), report::seconds(each)),
        );
        let rate = effort.steps as f64 / seconds.max(1e-9);
        lines.add("rate", &format!("{rate:.3e} {}", A::RATE_UNIT));
    }
    A::add_failures(outcome, &mut lines);
    lines
}

impl<D: Description> Ended<'_, D> {
    /// The same values as JSON.
    fn object(&self) -> Value {
        let Self {
            frames,
            folder,
            outcome,
            ..
        } = self;
        let effort = &outcome.effort;
        let seconds = outcome.elapsed.as_secs_f64();
        let numbers = outcome.first..outcome.first + outcome.summaries.len() as u32;
        let extension = self.style.picture_format().extension();
        let pictures = numbers.map(|index| folder.file(index, extension));
        let common = Common {
            specification: json!(frames.first().map(D::Options::specification)),
            files: pictures.filter(|path| path.exists()).collect(),
            devices: match outcome.computed {
                0 => json!([]),
                _ => report::device(&effort.device),
            },
            seconds,
            rate: (seconds > 0.0).then(|| effort.steps as f64 / seconds),
            rate_unit: D::Options::RATE_UNIT,
            errors: D::Options::errors(outcome),
            warnings: all_warnings::<D::Options>(frames, outcome),
            notes: effort.notes.clone(),
        };
        let mut object = common.with(json!({
            "folder": folder.path().to_string_lossy(),
            "computed": outcome.computed,
            "engine": effort.engine,
            "device": effort.device,
        }));
        object[D::Options::ITEMS] = json!(outcome.summaries);
        object[D::Options::STEPS.replace('-', "_")] = effort.steps.into();
        object
    }

    /// The summary of a zoom: its first lines, its frames and films, and what is worth a note.
    pub(crate) fn zoom_summary(&self, mut lines: Lines) -> String {
        let last = self.outcome.summaries.len().saturating_sub(1);
        let first = self.folder.file(0, self.style.picture_format().extension());
        lines.add_whole("frames", &format!("{} to {last:05}", first.display()));
        for (what, path) in &self.files {
            lines.add_whole(what, &path.display().to_string());
        }
        for warning in warnings_in_summary::<D::Options>(&self.outcome) {
            lines.add("warning", &warning);
        }
        for note in &self.outcome.effort.notes {
            lines.add("note", note);
        }
        lines.as_str().to_owned()
    }

    /// The summary of a sweep: its first lines, a row for each frame under `titles`, files, and what is worth a note.
    pub(crate) fn sweep_summary(
        &self,
        lines: &Lines,
        titles: &str,
        row: impl Fn(&SummaryOf<D::Options>) -> String,
    ) -> String {
        let outcome = &self.outcome;
        let mut text = format!("{}\n\n{titles}", lines.as_str());
        for summary in outcome.summaries.iter().take(MAX_LISTED_FRAMES) {
            text.push('\n');
            text.push_str(&row(summary));
        }
        if outcome.summaries.len() > MAX_LISTED_FRAMES {
            text.push_str("\n           ...");
        }
        text.push('\n');
        for (_, path) in &self.files {
            text.push_str(&format!("\n{}", path.display()));
        }
        for warning in warnings_in_summary::<D::Options>(outcome) {
            text.push_str(&format!("\nwarning: {warning}"));
        }
        for note in &outcome.effort.notes {
            text.push_str(&format!("\nnote: {note}"));
        }
        text
    }

    /// Writes the tables of a sweep: `csv`, and the parameters, the first specification and all summaries as JSON.
    pub(crate) fn write_tables<P: SequenceParameter>(
        &mut self,
        csv: &str,
        vary: &[Vary<P>],
    ) -> Result<(), Failure> {
        let (folder, frames) = (self.folder, self.frames);
        let files = ["table.csv", "table.json"].map(|name| folder.path().join(name));
        write_with(&files[0], |file| {
            file.write_all(csv.as_bytes()).map_err(|e| file.error(e))
        })?;
        let parameter =
            |v: &Vary<P>| json!({ "name": v.parameter.to_string(), "values": v.values });
        let mut table = json!({
            "parameters": vary.iter().map(parameter).collect::<Vec<_>>(),
            "first": frames.first().map(D::Options::specification),
            (D::Options::ITEMS): self.outcome.summaries,
        });
        // The form of earlier versions, which had sweeps of maps over one parameter.
        if let ([only], "maps") = (vary, D::Options::ITEMS) {
            table["parameter"] = only.parameter.to_string().into();
        }
        folder.write(&files[1], &table)?;
        self.files.extend(files.map(|path| ("table", path)));
        Ok(())
    }

    /// Writes the Zarr store of all maps in their folder by `write`.
    pub(crate) fn make_dataset(
        &mut self,
        write: impl FnOnce(&Path) -> Result<(), IoError>,
    ) -> Result<(), Failure> {
        let folder = self.folder;
        interrupt::check()?;
        let path = folder.path().join(DATASET);
        let ((), files) = stage(|| write(&path))?;
        folder.commit(files)?;
        self.files.push(("dataset", path));
        Ok(())
    }

    /// Draws the picture of all frames by `draw`; see [`Folder::overview`].
    pub(crate) fn make_overview(
        &mut self,
        name: &'static str,
        draw: impl FnOnce(&Path, &DescribedOutcome<D>) -> Result<(), IoError>,
    ) -> Result<(), Failure> {
        let draw = |path: &Path| draw(path, &self.outcome);
        let (picture, notes) = self.folder.overview(name, self.style.format, draw)?;
        self.outcome.effort.notes.extend(notes);
        self.files.push((name, picture));
        Ok(())
    }
}
