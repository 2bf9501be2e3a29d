//! The parts that `trisolar zoom` and `trisolar sweep` have in common: a folder of frames, and their computation.

use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trisolar::divergence::{
    Executor, Overrides, Resolution, Specification, Validated, differences,
};
use trisolar::io::atomic::{stage, write_with};
use trisolar::io::colour::ColourMap;
use trisolar::io::picture::{Theme, YDirection};
use trisolar::io::{IoError, PictureFormat};
use trisolar::run::{Claim, Outputs, Part, Paths, Record, RunOptions};
use trisolar::spec::{Parameters as _, SpecError};
use trisolar::zoom::animation::Animation;
use trisolar::zoom::{
    self, Colours, DATASET, Folder, FolderError, Frame, NAMES, Outcome, SequenceParameter,
    Settings, Style, Vary, short,
};

use super::cpu_args::warn_of_one_lane;
use super::map_devices::MapDevices;
use super::parameters::ParameterArgs;
use super::part::{self, PartArgs};
use super::ranks::Communicator;
use super::report::{self, Common, Lines};
use super::resume::{Resumed, Typed, differing_options, with_paths};
use super::{Failure, config, divergence, films, interrupt, unfinished};

/// The group of options in the record of a sequence.
const OPTIONS: &str = "sequence";

/// The base of every map of a sequence.
pub(crate) struct Base {
    pub(crate) specification: Specification,
    /// The largest allowed share of unresolved pixels in each map.
    pub(crate) max_error: Option<f64>,
}

/// Checks that no map has a larger share of unresolved pixels than the user allows.
pub(crate) fn check(outcome: &Outcome, max_error: Option<f64>) -> Result<(), Failure> {
    for summary in &outcome.summaries {
        Resolution::check(Some(summary.unresolved), max_error)
            .map_err(|reason| Failure::Failed(format!("frame {}: {reason}", summary.frame)))?;
    }
    Ok(())
}

/// Warnings known before the run and found during it: reasons why the maps may not be what the user intended.
pub(crate) fn warnings(frames: &[Frame], outcome: &Outcome) -> Vec<String> {
    let known = zoom::warnings(frames).into_iter();
    known.chain(unresolved(outcome)).collect()
}

/// Adds what helps if nothing parted.
pub(crate) fn advise(frames: &[Frame], outcome: &mut Outcome) {
    let maps = zoom::maps_without_parting(&outcome.summaries);
    let quiet = warnings(frames, outcome).is_empty();
    let advice = maps.map(|maps| divergence::more_steps(&format!(" in {maps}"), quiet));
    outcome.effort.notes.extend(advice);
}

/// The warning about maps whose steps are too long.
pub(crate) fn unresolved(outcome: &Outcome) -> Option<String> {
    let found = outcome.summaries.iter().map(|s| (s.frame, s.unresolved));
    let large: Vec<_> = found.filter(|(_, r)| r.warning().is_some()).collect();
    let (frame, worst) = large
        .iter()
        .max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
    let (count, all) = (large.len(), outcome.summaries.len());
    Some(format!(
        "in {count} of {all} maps, most in frame {frame}: {}",
        worst.warning()?
    ))
}

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
    pub(crate) resume: Option<PathBuf>,
    /// Write the whole specification, of which the frames are variations, to a TOML file, for --config
    #[arg(long, value_name = "FILE.toml", help_heading = "Files")]
    pub(crate) save_config: Option<PathBuf>,
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

/// Options of a sequence of maps.
#[derive(Debug, clap::Args)]
pub(crate) struct SequenceArgs {
    #[command(flatten)]
    pub(crate) specification: ParameterArgs<Overrides>,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,

    /// Write all maps as one Zarr store as well, maps.zarr.zip in the folder, for xarray: the array over the parameters that vary, or over the
    /// frames, with coordinates, units and specification. A folder that has it keeps it up to date
    #[arg(long, help_heading = "Files")]
    pub(crate) zarr: bool,

    /// Colours of the pictures: inferno, viridis, magma, plasma, cividis, grey or turbo
    #[arg(long, value_name = "NAME", help_heading = "Picture", default_value_t = ColourMap::Inferno)]
    colormap: ColourMap,
    /// Meaning of the colours. share: the share of the frame's steps that was left when the twins parted, on the same scale in
    /// every frame. steps: the number of steps left, on a scale up to the largest number of steps of any frame. frame: the number
    /// of steps left, in each frame from its lowest to its highest value. Quantities other than divergence, whose values are not
    /// steps, can only be drawn with frame [default: share; frame for other quantities than divergence]
    #[arg(long, value_name = "NAME", help_heading = "Picture")]
    colours: Option<Colours>,

    #[command(flatten)]
    devices: MapDevices,
    /// Maps computed at a time, 1 to 64, so that no device waits for the last pixels or the picture of a map [default: 4; under
    /// mpirun the number of ranks, from 4 to 16]
    #[arg(long, value_name = "N", help_heading = "Computation", value_parser = in_flight)]
    in_flight: Option<usize>,
    /// Approximate time between two writes of an unfinished map to disk, 0.1 to 86400 (seconds), which is how much a killed run can
    /// lose
    #[arg(long, value_name = "SECONDS", help_heading = "Computation", default_value = "30", value_parser = checkpoint)]
    checkpoint: Duration,

    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    pub(crate) quiet: bool,
}

fn in_flight(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=64) => Ok(n),
        _ => Err("must be a whole number from 1 to 64".into()),
    }
}

/// The films at these paths, which can be written.
pub(crate) fn films(paths: &[PathBuf]) -> Result<Vec<Animation>, Failure> {
    let film = |path: &PathBuf| Animation::new(path).map_err(|e| films::refused(path, &e));
    paths.iter().map(film).collect()
}

/// Makes the films of a sequence of this many frames.
pub(crate) fn make_films(
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

/// The record of the zoom `here` by `command` in this folder, which may write its films. `before` is the record of the resumed zoom.
pub(crate) fn record_with_films<T: Paths>(
    command: &str,
    folder: &Path,
    here: &T,
    before: Option<&Record>,
    films: &[Animation],
) -> Result<Record, Failure> {
    let mut record = FolderArgs::record(command, folder, here)?;
    for film in films {
        before.map_or(Ok(()), |before| before.check("--film", film.path()))?;
    }
    record.allow_what_is_there(films.iter().map(Animation::path))?;
    Ok(record)
}

/// Adds the frames of a zoom, its films and other `files` to its summary.
pub(crate) fn add_zoom_lines<S>(
    lines: &mut Lines,
    outcome: &Outcome<S>,
    folder: &Folder,
    format: PictureFormat,
    files: &[(&str, &Path)],
) {
    let last = outcome.summaries.len().saturating_sub(1);
    let first = folder.file(0, format.extension());
    lines.add_whole("frames", &format!("{} to {last:05}", first.display()));
    for (what, path) in files {
        lines.add_whole(what, &path.display().to_string());
    }
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

/// Writes the tables of a sweep: `csv`, and the parameters, the `first` specification and all summaries, which are those of `ensembles` (such as
/// `maps`), as JSON.
pub(crate) fn write_tables<P: SequenceParameter, S: Serialize>(
    folder: &Folder,
    csv: &str,
    vary: &[Vary<P>],
    first: Value,
    ensembles: &str,
    summaries: &[S],
) -> Result<Vec<PathBuf>, Failure> {
    let files = ["table.csv", "table.json"].map(|name| folder.path().join(name));
    write_with(&files[0], |file| {
        file.write_all(csv.as_bytes()).map_err(|e| file.error(e))
    })?;
    let parameter = |v: &Vary<P>| json!({ "name": v.parameter.to_string(), "values": v.values });
    let mut table = json!({
        "parameters": vary.iter().map(parameter).collect::<Vec<_>>(),
        "first": first,
        ensembles: summaries,
    });
    // The form of earlier versions, which had sweeps of maps over one parameter.
    if let ([only], "maps") = (vary, ensembles) {
        table["parameter"] = only.parameter.to_string().into();
    }
    folder.write(&files[1], &table)?;
    Ok(files.into())
}

/// Largest number of frames that a summary lists.
const MAX_LISTED_FRAMES: usize = 20;

/// The summary of a sweep: its first lines, a row for each frame under `titles`, files, and what is worth a note.
pub(crate) fn sweep_summary<S>(
    lines: &Lines,
    titles: &str,
    outcome: &Outcome<S>,
    row: impl Fn(&S) -> String,
    files: &[PathBuf],
    warning: Option<String>,
) -> String {
    let mut text = format!("{}\n\n{titles}", lines.as_str());
    for summary in outcome.summaries.iter().take(MAX_LISTED_FRAMES) {
        text.push('\n');
        text.push_str(&row(summary));
    }
    if outcome.summaries.len() > MAX_LISTED_FRAMES {
        text.push_str("\n           ...");
    }
    text.push('\n');
    for path in files {
        text.push_str(&format!("\n{}", path.display()));
    }
    if let Some(warning) = warning {
        text.push_str(&format!("\nwarning: {warning}"));
    }
    for note in &outcome.effort.notes {
        text.push_str(&format!("\nnote: {note}"));
    }
    text
}

/// Writes the Zarr store of all maps in their folder by `write`, if it is wanted, and returns its path.
pub(crate) fn make_dataset(
    wanted: bool,
    folder: &Folder,
    write: impl FnOnce(&Path) -> Result<(), IoError>,
) -> Result<Option<PathBuf>, Failure> {
    if !wanted {
        return Ok(None);
    }
    interrupt::check()?;
    let path = folder.path().join(DATASET);
    let ((), files) = stage(|| write(&path))?;
    folder.commit(files)?;
    Ok(Some(path))
}

pub(crate) fn checkpoint(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("must be from 0.1 to 86400 seconds".into()),
    }
}

impl FolderArgs {
    /// The run of `command` in the folder of `--resume`: its record and its options.
    pub(crate) fn resumed<T: Paths>(
        &self,
        command: &str,
        folder: &Path,
    ) -> Result<(Record, T), Failure> {
        let refuse = |e: &dyn Display| {
            Failure::value(&folder.display().to_string(), "--resume", &e.to_string())
        };
        let record = Folder::run_of(folder, command).map_err(|e| refuse(&e))?;
        let options = record.get(OPTIONS).map_err(|e| refuse(&e))?;
        Ok((record, options))
    }

    /// Refuses options given with `--resume FOLDER` that differ from those of the sequence. Those under the headings and names
    /// `elsewhere` are checked by others.
    pub(crate) fn refuse_others<T: Paths>(
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
    pub(crate) fn differs(folder: &Path, what: &str) -> Failure {
        let reason = format!("it holds another sequence: {what} differs");
        Failure::value(&folder.display().to_string(), "--resume", &reason)
    }

    /// The part of the sequence to compute, also that of a resumed one; `None` for all of it.
    pub(crate) fn part(&self) -> Result<Option<Part>, Failure> {
        match &self.resume {
            Some(folder) => Ok(Folder::part_of(folder)?),
            None => Ok(self.part.part),
        }
    }

    /// The folder of a new sequence, or of its part, whose whole is in the folder `out`.
    pub(crate) fn of(&self, out: &Path) -> PathBuf {
        let part = self.part.part;
        part.map_or_else(|| out.to_owned(), |part| part.path(out))
    }

    /// Checks and locks the folder of a sequence, the file of `--save-config`, and films. A part writes none of these files, but the merged
    /// sequence does.
    pub(crate) fn claim(
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

    /// The record of a sequence with these options, in an existing folder.
    pub(crate) fn record<T: Paths>(
        command: &str,
        folder: &Path,
        options: &T,
    ) -> Result<Record, Failure> {
        let mut record = Record::new(command, &folder.join("sequence.json"));
        record.set(OPTIONS, options)?;
        Ok(record)
    }

    /// The options of the sequence that `command` began in a folder, unless it will be replaced.
    pub(crate) fn begun<T: Paths>(&self, command: &str, folder: &Path) -> Option<T> {
        if self.restart {
            return None;
        }
        // Whatever else is in the folder is refused when it is opened.
        let record = Folder::run_of(folder, command).ok()?;
        record.get(OPTIONS).ok()
    }

    /// The folder of a sequence. `differing` are the options in which an earlier sequence in the folder differs from this one.
    pub(crate) fn open(
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
    pub(crate) fn ended(
        error: zoom::Error,
        command: &str,
        folder: &Folder,
        quiet: bool,
    ) -> Failure {
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

impl SequenceArgs {
    /// Writes the base of every map, if that is requested.
    pub(crate) fn save_config(
        &self,
        base: &Specification,
        max_error: Option<f64>,
    ) -> Result<(), Failure> {
        let Some(path) = &self.folder.save_config else {
            return Ok(());
        };
        let valid = base.clone().validate().map_err(|e| self.refused(&e))?;
        config::save(path, &valid, max_error)
    }

    /// The base of every map: the command line overrides the configuration file, which overrides `center`, which overrides the defaults.
    /// It is checked as a map of its own, so that messages name the options of bad values.
    pub(crate) fn base(&self, center: Option<[f64; 2]>) -> Result<Base, Failure> {
        let mut overrides = self.specification.values.clone();
        if let Some(path) = &self.folder.config {
            overrides = overrides.merged_over(config::load(path)?);
        }
        overrides.center = overrides.center.or(center);
        let refused = |error: SpecError| self.refused(&error);
        let max_error = overrides.checked_max_error().map_err(refused)?;
        let checked = Specification::from(overrides).validate().map_err(refused)?;
        Ok(Base {
            specification: checked.specification().clone(),
            max_error,
        })
    }

    fn refused(&self, error: &SpecError) -> Failure {
        let config = self.folder.config.as_deref();
        Failure::specification(error, self.specification.values.has(error.option), config)
    }

    /// The largest allowed share of unresolved pixels of a resumed sequence: its own, unless another one is given.
    pub(crate) fn max_error_over(&self, has: Option<f64>) -> Result<Option<f64>, Failure> {
        let given = self.specification.values.clone().checked_max_error();
        Ok(given.map_err(|error| self.refused(&error))?.or(has))
    }

    /// The appearance of pictures of these maps.
    pub(crate) fn look(&self, of: &Specification) -> Result<(ColourMap, Colours), Failure> {
        let colours = self.colours.unwrap_or(Colours::usual(of.quantity));
        colours
            .check(of.quantity)
            .map_err(|allowed| Failure::value(colours.name(), "--colours", &allowed))?;
        Ok((self.colormap, colours))
    }

    /// Refuses options given with `--resume FOLDER` that differ from those of the sequence.
    pub(crate) fn refuse_others<T: Paths>(
        &self,
        typed: &Typed,
        folder: &Path,
        base: &Specification,
        options: [&T; 2],
        out: &Path,
    ) -> Result<(), Failure> {
        let elsewhere = &["Specification", "max_error"];
        FolderArgs::refuse_others(typed, folder, options, out, elsewhere)?;
        let here = Specification::from(self.specification.values.clone().merged_over(base.into()));
        if here != *base {
            let what = differences(base, &here);
            return Err(FolderArgs::differs(folder, &what));
        }
        Ok(())
    }

    /// Runs `lead` with the devices of this process, or on rank 0 with those of all that `mpirun` started.
    pub(crate) fn on_all_ranks(
        &self,
        lead: impl FnOnce(&dyn Executor<Validated>, RunOptions) -> Result<(), Failure> + Send,
    ) -> Result<(), Failure> {
        let options = self.devices.options();
        let communicator = Communicator::join()?;
        let result = communicator.compute(&options, true, &|| part::points(None), lead);
        communicator.end(result)
    }

    pub(crate) fn settings(
        &self,
        style: Style,
        options: RunOptions,
        processes: usize,
        part: Option<Part>,
    ) -> Settings {
        Settings {
            part,
            style,
            options,
            in_flight: self.in_flight.unwrap_or(processes.clamp(4, 16)),
            checkpoint: self.checkpoint,
        }
    }

    /// The folder of the sequence of these frames. `differing` are the options in which an earlier sequence in the folder differs from
    /// this one.
    pub(crate) fn open(
        &self,
        path: &Path,
        frames: &[Frame],
        more: &Value,
        record: Record,
        differing: &[String],
        part: Option<Part>,
    ) -> Result<Folder, Failure> {
        let first = frames.first().map(|f| f.specification.specification());
        let contents = contents(frames, json!(first), more);
        self.folder.open(path, &contents, record, differing, part)
    }

    /// Warnings of the first and the last map, and of a slow CPU.
    pub(crate) fn warn(&self, frames: &[Frame]) {
        if self.quiet {
            return;
        }
        for warning in zoom::warnings(frames) {
            report::to_stderr(&format!("warning: {warning}"));
        }
        warn_of_one_lane(self.devices.options().backend);
    }
}

/// The description of the sequence of these frames; `first` is the specification of the first one.
pub(crate) fn contents<V>(frames: &[Frame<V>], first: Value, more: &Value) -> Value {
    let set: Vec<_> = frames.iter().map(|f| &f.set).collect();
    json!({
        "command": more,
        "number_of_maps": frames.len(),
        "first_specification": first,
        "values": set,
    })
}

/// The options in which two sequences of maps differ, with both values, besides those that may differ.
pub(crate) fn differing<T: Paths>(
    [there, here]: [&T; 2],
    [there_base, here_base]: [&Specification; 2],
    may: &[&str],
) -> Vec<String> {
    let of_bases = differences(there_base, here_base);
    let of_bases = Some(of_bases).filter(|text| !text.is_empty());
    let others = differing_options(there, here, may);
    of_bases.into_iter().chain(others).collect()
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

/// Reports on a part of a sequence, whose whole is made by merging; returns whether it is one.
pub(crate) fn reported_part(
    part: Option<Part>,
    folder: &Folder,
    object: impl FnOnce() -> Value,
    lines: impl FnOnce() -> Lines,
    SequenceReport { json, quiet }: SequenceReport,
) -> Result<bool, Failure> {
    let Some(part) = part else {
        return Ok(false);
    };
    if json {
        let mut object = object();
        part::add(Some(part), &mut object);
        report::json(&object)?;
    } else if !quiet {
        let mut lines = lines();
        lines.add_whole("folder", &folder.path().display().to_string());
        let whole = part.whole(folder.path());
        let whole = whole.unwrap_or_else(|| folder.path().to_owned());
        part::add_lines(part, &whole, "", &mut lines);
        report::to_stdout(lines.as_str())?;
    }
    Ok(true)
}

/// The options of a report.
#[derive(Clone, Copy)]
pub(crate) struct SequenceReport {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

/// The first lines of the summaries of all sequences. `maps` is the plural of what a frame holds, and `steps` that of what is counted.
pub(crate) fn lines<S>(outcome: &Outcome<S>, maps: &str, steps: &str) -> Lines {
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
    lines.add(maps, &format!("{all}{before}"));
    if new > 0 {
        let seconds = outcome.elapsed.as_secs_f64();
        let each = seconds / f64::from(new);
        lines.add(steps, &report::grouped(effort.steps));
        lines.add(
            "time",
            &format!("{}, {} each", report::time(seconds), report::seconds(each)),
        );
        let rate = effort.steps as f64 / seconds.max(1e-9);
        lines.add("rate", &format!("{rate:.3e} {steps}/s"));
    }
    lines
}

/// The same values as JSON.
pub(crate) fn object(
    frames: &[Frame],
    outcome: &Outcome,
    folder: &Folder,
    format: PictureFormat,
) -> Value {
    let shares = outcome.summaries.iter().map(|s| s.unresolved);
    let worst = shares.map(|found| found.share).reduce(f64::max);
    let common = Common {
        specification: json!(frames.first().map(|f| f.specification.specification())),
        rate_unit: "pixel-steps/s",
        errors: json!({ "unresolved": worst }),
        warnings: warnings(frames, outcome),
        ..common(outcome, folder, format)
    };
    common.with(json!({
        "folder": folder.path().to_string_lossy(),
        "maps": outcome.summaries,
        "computed": outcome.computed,
        "engine": outcome.effort.engine,
        "device": outcome.effort.device,
        "pixel_steps": outcome.effort.steps,
    }))
}

/// The part of the reports on sequences that does not depend on their kind: the specification, errors and warnings are missing.
pub(crate) fn common<S>(outcome: &Outcome<S>, folder: &Folder, format: PictureFormat) -> Common {
    let effort = &outcome.effort;
    let seconds = outcome.elapsed.as_secs_f64();
    let frames = outcome.first..outcome.first + outcome.summaries.len() as u32;
    let pictures = frames.map(|index| folder.file(index, format.extension()));
    Common {
        files: pictures.filter(|path| path.exists()).collect(),
        devices: match outcome.computed {
            0 => json!([]),
            _ => report::device(&effort.device),
        },
        seconds,
        rate: (seconds > 0.0).then(|| effort.steps as f64 / seconds),
        notes: effort.notes.clone(),
        ..Common::default()
    }
}
