//! The folder of a sequence: its contents, and a few files for each frame. A run needs nothing else to continue an earlier
//! one.
//!
//! - `sequence.json`: everything on which the frames' values depend, and under `run` the options
//! - `frame-00012.png` (with axes also `.svg` or `.pdf`), and `.npy` (of ensembles of records `.npz`) if requested
//! - `frame-00012.json`: the frame's specification, summary and checksums of its files; written last
//! - `frame-00012.part`: the finished pixels of an unfinished frame
//! - `frame-00012.npz.part` and `frame-00012.npz.part.json`: the records of an unfinished frame
//!
//! Frames of a sweep of two parameters have both values in their names: `frame-00012_mass2=10_dt=0.002.png`.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::sequence::{Frame, Setting};
use super::short::short;
use trisolar_io::atomic::{Staged, check_writable, stage, write_with};
use trisolar_io::read::{self, Limit};
use trisolar_io::sum::{Sum, sealed, unsealed};
use trisolar_io::{IoError, PictureFormat};
use trisolar_run::{Names, Part, Record, RecordError};

/// The file that describes the sequence.
pub(super) const CONTENTS: &str = "sequence.json";
/// Its key for the options, on which the frames do not depend.
pub(super) const RUN: &str = "run";
/// Its key for the part of the frames that the folder has.
pub(super) const PART: &str = "part";
/// Its key for the look of pictures.
const PICTURES: &str = "pictures";
/// Its key for the number of frames.
pub(super) const COUNT: &str = "number_of_maps";
/// Its key for the parameters that the sequence sets in each frame.
const VALUES: &str = "values";
/// The file of all maps as one Zarr store.
pub const DATASET: &str = "maps.zarr.zip";
/// The files of a sequence besides the frames.
const SHEETS: [&str; 12] = [
    "sheet.png",
    "sheet.svg",
    "sheet.pdf",
    "shares.png",
    "shares.svg",
    "shares.pdf",
    "median.png",
    "median.svg",
    "median.pdf",
    "table.csv",
    "table.json",
    DATASET,
];

/// Names of the files in the folder of a sequence.
pub const NAMES: Names = Names {
    what: "sequence",
    owns: |name| is_frame(name) || name == CONTENTS || SHEETS.iter().any(|sheet| name == *sheet),
    parents: false,
    keeps_older: false,
};

/// The folder of one sequence.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The text after the number in the names of each frame's files; empty if there is none.
    suffixes: Vec<String>,
    /// The description of the sequence.
    contents: Value,
    run: Arc<Mutex<Option<Record>>>,
}

/// The reason why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It holds another sequence.
    #[error(
        "{path} holds another sequence: {what}; choose another folder, or --restart to replace its frames"
    )]
    Different {
        /// The folder.
        path: String,
        /// The first value that differs, there and here.
        what: String,
    },
    /// It holds files with the names of frames that belong to no sequence.
    #[error(
        "{path} holds {name}, which would be overwritten, but no sequence to which it belongs; choose another folder"
    )]
    Foreign {
        /// The folder.
        path: String,
        /// One of the files.
        name: String,
    },
    /// It has no sequence, or none that can be resumed.
    #[error("{path} {reason}")]
    NoSequence {
        /// The folder.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The record of its run cannot be used.
    #[error(transparent)]
    Run(#[from] RecordError),
    /// It cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Folder {
    /// Creates the folder, or opens an existing one with the same contents, or with fewer frames of the same values.
    ///
    /// # Errors
    /// [`FolderError::Different`] unless `restart`, with which the files of the other sequence are removed.
    pub fn open(path: &Path, contents: &Value, restart: bool) -> Result<Self, FolderError> {
        Self::open_for(path, contents, None, restart)
    }

    /// As [`open`](Self::open), and stores the options, which [`run_of`](Self::run_of) returns.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_for(
        path: &Path,
        contents: &Value,
        run: Option<Record>,
        restart: bool,
    ) -> Result<Self, FolderError> {
        match fs::create_dir(path) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(IoError::system(path, "create", e).into());
            }
            _ => {}
        }
        let folder = Self {
            path: path.to_owned(),
            suffixes: Vec::new(),
            contents: contents.clone(),
            run: Arc::new(Mutex::new(run)),
        };
        let file = path.join(CONTENTS);
        check_writable(&file)?;
        match read::text(&file, Limit::RECORD) {
            Ok(text) if !restart => {
                folder.compare(&text, contents)?;
                folder.take_over(&text);
            }
            Ok(_) => folder.clear()?,
            Err(IoError::NotFound { .. }) => {
                // Frames of an unknown sequence must not be mistaken for frames of this one.
                if !folder.frames()?.is_empty() && !restart {
                    return Err(folder.different(format!("it has frames, but no {CONTENTS}")));
                }
                if let Some(name) = SHEETS.iter().find(|name| path.join(name).exists()) {
                    return Err(FolderError::Foreign {
                        path: path.display().to_string(),
                        name: (*name).to_owned(),
                    });
                }
                folder.clear()?;
            }
            Err(e) => return Err(e.into()),
        }
        folder.write_contents()?;
        Ok(folder)
    }

    /// The record of the run of a folder.
    ///
    /// # Errors
    /// [`FolderError::NoSequence`], or the folder cannot be read.
    pub fn run_of(path: &Path, command: &str) -> Result<Record, FolderError> {
        let contents = contents_of(path)?;
        match contents.get(RUN) {
            None => Err(no_sequence(
                path,
                "holds a sequence of an older version, which did not record its options; resume it with the command that began it",
            )),
            Some(run) => Ok(Record::from_json(
                &run.to_string(),
                &path.join(CONTENTS),
                command,
            )?),
        }
    }

    /// The part of a sequence that a folder has; `None` if it has a whole one.
    ///
    /// # Errors
    /// [`FolderError::NoSequence`], or the folder cannot be read.
    pub fn part_of(path: &Path) -> Result<Option<Part>, FolderError> {
        part_in(&contents_of(path)?, path)
    }

    /// The description of a folder's sequence of a part, for its [`open`](Self::open).
    pub fn contents_of_part(mut contents: Value, part: Part) -> Value {
        contents[PART] = part.to_string().into();
        contents
    }

    /// Records the checksums of files outside of the folder, and then gives the files their names.
    ///
    /// # Errors
    /// A file cannot be read or renamed, or the record cannot be written.
    pub fn commit(&self, files: Staged) -> Result<(), FolderError> {
        if let Some(run) = &mut *self.lock() {
            run.expect(&files)?;
        }
        self.write_contents()?;
        files.commit()?;
        let news = self.lock().as_mut().is_some_and(Record::settle);
        if news {
            self.write_contents()?;
        }
        Ok(())
    }

    /// Writes the picture of the whole sequence, which `draw` draws, in a format, and removes those of other formats that earlier runs
    /// wrote. Returns its path, and notes about pictures that remain, because they are not what a run wrote.
    ///
    /// # Errors
    /// Those of `draw`; a file cannot be read or removed, or the record cannot be written.
    pub fn overview(
        &self,
        name: &str,
        format: PictureFormat,
        draw: impl FnOnce(&Path) -> Result<(), IoError>,
    ) -> Result<(PathBuf, Vec<String>), FolderError> {
        let path = |format: PictureFormat| self.path.join(format!("{name}.{format}"));
        let drawn = path(format);
        let ((), files) = stage(|| draw(&drawn))?;
        self.commit(files)?;
        let mut notes = Vec::new();
        for other in PictureFormat::ALL.into_iter().filter(|f| *f != format) {
            let other = path(other);
            let Some(sum) = Sum::of_file(&other)? else {
                continue;
            };
            let ours = (self.lock().as_ref()).is_some_and(|run| run.sums(&other).contains(&sum));
            if ours {
                remove(&other)?;
                self.lock().iter_mut().for_each(|run| run.forget(&other));
                self.write_contents()?;
            } else {
                let (other, drawn) = (other.display(), drawn.display());
                notes.push(format!(
                    "{other} may differ from {drawn}: it is older and not what this command wrote there, so that it was left"
                ));
            }
        }
        Ok((drawn, notes))
    }

    /// Takes over from the description of an earlier run which files it wrote.
    fn take_over(&self, text: &str) {
        let there = unsealed(text).unwrap_or_default();
        if let Some(run) = &mut *self.lock() {
            let file = self.path.join(CONTENTS);
            let before = Record::from_json(&there[RUN].to_string(), &file, run.command());
            if let Ok(before) = before {
                run.take_over(&before);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Record>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_contents(&self) -> Result<(), IoError> {
        let mut contents = self.contents.clone();
        if let Some(run) = &*self.lock() {
            let run = serde_json::from_str(&run.to_json()).expect("just written");
            contents[RUN] = run;
        }
        self.write(&self.path.join(CONTENTS), &sealed(contents))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same folder with the values of two parameters in the names of the frames' files.
    #[must_use]
    pub fn named_by_values<V>(mut self, frames: &[Frame<V>]) -> Self {
        let suffix = |frame: &Frame<V>| -> String {
            let settings = frame.set.iter();
            settings
                .map(|s| format!("_{}={}", s.name, short(s.value)))
                .collect()
        };
        self.suffixes = frames.iter().map(suffix).collect();
        self
    }

    /// A frame's file with this extension.
    pub fn file(&self, frame: u32, extension: &str) -> PathBuf {
        let suffix = self.suffixes.get(frame as usize).map_or("", String::as_str);
        self.path
            .join(format!("frame-{frame:05}{suffix}.{extension}"))
    }

    /// Writes a JSON file, completely or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, file: &Path, value: &Value) -> Result<(), IoError> {
        let text = format!("{value:#}\n");
        write_with(file, |out| {
            out.write_all(text.as_bytes()).map_err(|e| out.error(e))
        })
    }

    fn compare(&self, text: &str, contents: &Value) -> Result<(), FolderError> {
        let damaged = |what: &str| self.different(format!("its {CONTENTS} is damaged: {what}"));
        let there = unsealed(text).map_err(damaged)?;
        let (Some(there), Some(wanted)) = (there.as_object(), contents.as_object()) else {
            return Err(damaged("it is no object"));
        };
        let keys = wanted.keys().chain(there.keys());
        let differing = keys.filter(|key| there.get(*key) != wanted.get(*key));
        let what = differing.filter_map(|key| {
            let both = [there.get(key), wanted.get(key)].map(|v| v.unwrap_or(&Value::Null));
            match key.as_str() {
                RUN => None,
                // An older version wrote the look of the pictures here, which now is beside each of them.
                PICTURES if both[1].is_null() => None,
                // The values of the frames tell more.
                COUNT if both.iter().all(|n| n.is_u64()) && wanted.contains_key(VALUES) => None,
                VALUES => differing_frame(both),
                _ => Some(differing_value(key, both)),
            }
        });
        match what.into_iter().next() {
            Some(what) => Err(self.different(what)),
            None => Ok(()),
        }
    }

    fn different(&self, what: String) -> FolderError {
        FolderError::Different {
            path: self.path.display().to_string(),
            what,
        }
    }

    /// The frames' files.
    fn frames(&self) -> Result<Vec<PathBuf>, IoError> {
        frames_in(&self.path)
    }

    /// Removes the sequence's files, and then the description of the sequence.
    fn clear(&self) -> Result<(), IoError> {
        let others = SHEETS.iter().chain([&CONTENTS]);
        let others = others.map(|name| self.path.join(name));
        let frames = self.frames()?;
        frames
            .into_iter()
            .chain(others)
            .try_for_each(|path| remove(&path))
    }
}

/// The description of the sequence in a folder.
///
/// # Errors
/// As [`Folder::run_of`].
pub(super) fn contents_of(path: &Path) -> Result<Value, FolderError> {
    let text = match read::text(&path.join(CONTENTS), Limit::RECORD) {
        Err(IoError::NotFound { .. }) => {
            return Err(no_sequence(
                path,
                "holds no sequence: there is no sequence.json in it",
            ));
        }
        text => text?,
    };
    unsealed(&text)
        .map_err(|e| no_sequence(path, &format!("holds a sequence.json that is damaged: {e}")))
}

/// The part in the contents of the folder at `path`.
pub(super) fn part_in(contents: &Value, path: &Path) -> Result<Option<Part>, FolderError> {
    let part = contents.get(PART).map(|part| part.as_str().unwrap_or(""));
    let part = part.map(str::parse::<Part>).transpose();
    part.map_err(|e| no_sequence(path, &format!("holds a sequence.json whose part {e}")))
}

fn no_sequence(path: &Path, reason: &str) -> FolderError {
    FolderError::NoSequence {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    }
}

/// The first value of a group in which two descriptions differ, or the value itself.
pub(super) fn differing_value(key: &str, [there, here]: [&Value; 2]) -> String {
    if let (Some(a), Some(b)) = (there.as_object(), here.as_object()) {
        let mut keys = b.keys().chain(a.keys());
        if let Some(key) = keys.find(|key| a.get(*key) != b.get(*key)) {
            return differing_value(key, [&there[key], &here[key]]);
        }
    }
    format!("{} ({there} there, {here} here)", key.replace('_', "-"))
}

/// The first frame to which two sequences give different values; `None` if the second one has the frames of the first one, and more.
fn differing_frame([there, here]: [&Value; 2]) -> Option<String> {
    let (Some(there), Some(here)) = (there.as_array(), here.as_array()) else {
        return Some(differing_value(VALUES, [there, here]));
    };
    if there.len() > here.len() {
        let (there, here) = (there.len(), here.len());
        return Some(format!("the number of frames ({there} there, {here} here)"));
    }
    let frame = there.iter().zip(here).position(|(a, b)| a != b)?;
    let settings: [Vec<Setting>; 2] = [&there[frame], &here[frame]]
        .map(|v| serde_json::from_value(v.clone()).unwrap_or_default());
    let [a, b] = &settings;
    let other = b.iter().find(|s| !a.contains(s));
    let Some(other) = other else {
        return Some(format!("frame {frame} sets other parameters"));
    };
    let before = a.iter().find(|s| s.name == other.name);
    let before = before.map_or("not set".into(), |s| short(s.value));
    let (name, value) = (&other.name, short(other.value));
    Some(format!(
        "{name} of frame {frame} ({before} there, {value} here)"
    ))
}

/// Removes a file if there is one.
///
/// # Errors
/// It cannot be removed.
pub fn remove(path: &Path) -> Result<(), IoError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(IoError::system(path, "remove", e))
        }
        _ => Ok(()),
    }
}

/// The files of the frames in a folder.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn frames_in(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let failed = |e| IoError::system(folder, "read", e);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let paths: Vec<_> = entries
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    let of_a_frame = |path: &PathBuf| path.file_name().is_some_and(is_frame);
    Ok(paths.into_iter().filter(of_a_frame).collect())
}

/// Whether this is the name of a frame's file.
fn is_frame(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    // Values may contain decimal points.
    let parts = name
        .strip_prefix("frame-")
        .and_then(|rest| rest.rsplit_once('.'));
    parts.is_some_and(|(stem, extension)| {
        // The values of unfinished frames, and what is said about them.
        let stem = match extension {
            "part" => stem.strip_suffix(".npz").unwrap_or(stem),
            "json" => ([".npz.part", ".part"].iter())
                .find_map(|end| stem.strip_suffix(end))
                .unwrap_or(stem),
            _ => stem,
        };
        let digits = stem.bytes().take_while(u8::is_ascii_digit).count();
        digits >= 5
            && are_settings(&stem[digits..])
            && ["png", "svg", "pdf", "npy", "npz", "json", "part"].contains(&extension)
    })
}

/// Whether a part of a name is empty, or two parameters with their values: `_NAME=NUMBER_NAME=NUMBER`.
fn are_settings(text: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "_-".contains(c))
    };
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    match text.split('=').collect::<Vec<_>>()[..] {
        [rest] => rest.is_empty(),
        [first, between, last] => {
            let first = first.strip_prefix('_').is_some_and(is_name);
            let (value, second) = between.split_once('_').unwrap_or_default();
            first && is_number(value) && is_name(second) && is_number(last)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_folder_goes_on_only_with_what_it_holds() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("z");
        let contents = json!({"frames": 3, "steps": [1.5, 0.1]});
        let folder = Folder::open(&path, &contents, false).expect("created");
        for (frame, extension) in [(0, "png"), (0, "json"), (1, "part")] {
            fs::write(folder.file(frame, extension), "x").expect("writes");
        }
        fs::write(path.join("frame-notes.png"), "mine").expect("writes");
        Folder::open(&path, &contents, false).expect("the same");
        for other in [
            json!({"frames": 4, "steps": [1.5, 0.1]}),
            json!({"frames": 3}),
        ] {
            let error = Folder::open(&path, &other, false).unwrap_err();
            assert!(error.to_string().contains("--restart"), "{error}");
        }
        assert!(folder.file(0, "png").exists());
        Folder::open(&path, &json!({"frames": 4}), true).expect("replaced");
        let mut names: Vec<_> = fs::read_dir(&path)
            .expect("reads")
            .map(|e| e.expect("reads").file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["frame-notes.png", "sequence.json"]);
    }

    #[test]
    fn a_longer_sequence_goes_on_and_another_one_is_named() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("z");
        let contents = |spans: &[f64], mass: f64| {
            let frame = |span: &f64| json!([{"name": "span", "value": span}]);
            json!({
                "number_of_maps": spans.len(),
                "values": spans.iter().map(frame).collect::<Vec<_>>(),
                "first_specification": {"masses": [mass, 2.0], "g": 1.0},
            })
        };
        let open = |spans: &[f64], mass| Folder::open(&path, &contents(spans, mass), false);
        open(&[8.0, 4.0], 1.0).expect("created");
        open(&[8.0, 4.0, 2.0], 1.0).expect("extended");
        for (spans, mass, what) in [
            (
                &[8.0, 4.0][..],
                1.0,
                "the number of frames (3 there, 2 here)",
            ),
            (&[8.0, 5.0, 2.0], 1.0, "span of frame 1 (4 there, 5 here)"),
            (
                &[8.0, 4.0, 2.0],
                3.0,
                "masses ([1.0,2.0] there, [3.0,2.0] here)",
            ),
        ] {
            let error = open(spans, mass).unwrap_err().to_string();
            assert!(
                error.contains(&format!("another sequence: {what};")),
                "{error}"
            );
        }
    }

    #[test]
    fn frames_are_known_by_their_names() {
        for (name, known) in [
            ("frame-00001.png", true),
            ("frame-123456.part", true),
            ("frame-00001_mass2=10_dt=0.002.npy", true),
            ("frame-00001_x1=-1.5_shift=1e-7.json", true),
            ("frame-00001.part.json", true),
            ("frame-00001.npz.part", true),
            ("frame-00001.npz.part.json", true),
            ("frame-00001_v-inf=0.5_steps-per-period=40.npz", true),
            ("frame-00001.mine.part.json", false),
            ("frame-00001_mass2=10.npy", false),
            ("frame-00001_x_0=10_tau_a1=-3e-7.npz", true),
            ("frame-00001_mass2=10_my own=3.npy", false),
            ("frame-00001_mass2=10_3=3.npy", false),
            ("frame-00001_mass2=10_dt=0.002_dt=3.npy", false),
            ("frame-00001_mine.png", false),
            ("frame-00001.png.txt", false),
            ("frame-1.png", false),
            ("frame-notes.png", false),
        ] {
            assert_eq!(is_frame(OsStr::new(name)), known, "{name}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_said() {
        let parent = tempfile::tempdir().expect("a folder");
        let missing = parent.path().join("a/b");
        let error = Folder::open(&missing, &json!({}), false).unwrap_err();
        assert!(error.to_string().contains("does not exist"), "{error}");
        let file = parent.path().join("f");
        fs::write(&file, "").expect("writes");
        assert!(Folder::open(&file, &json!({}), false).is_err());
    }
}
