//! The part of a checkpoint that describes its run: the options of the run, and the checksums of the files that it has written.
//!
//! Relative paths are stored relative to the checkpoint's folder, so that a run can be resumed from any working directory and its
//! folder can be moved as a whole. Absolute paths do not change.
//!
//! A resumed run may overwrite outputs that it wrote itself, and replaces those that existed when it began, which are kept
//! ([`older`]). The checkpoint gets the checksum of a file before the file appears
//! ([`stage`](crate::io::atomic::stage)), so that it knows every file whenever the run is killed. Files with other contents come from
//! other programs and are not overwritten.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Refused;
use super::place::Place;
use crate::io::IoError;
use crate::io::atomic::{Staged, directory_of};
use crate::io::npz::{NpzReader, NpzWriter};
use crate::io::older;
use crate::io::sum::Sum;

/// A group of options that may contain paths.
pub trait Paths: Clone + Serialize + DeserializeOwned {
    /// All paths of the group.
    fn paths(&mut self) -> Vec<&mut PathBuf>;
}

/// The version of the format of [`Record`].
const FORMAT: u32 = 1;
/// The member of an npz that holds a record.
const MEMBER: &str = "run.json";

/// The options of a run and the files that it has written; see the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    format: u32,
    /// What wrote it.
    program: String,
    /// Which command (`nbody`).
    command: String,
    /// The progress of the run in words, if it has not ended and losing the checkpoint would lose work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unfinished: Option<String>,
    /// Groups of options under the names that they have on the command line, with `_` for `-`.
    options: BTreeMap<String, Map<String, Value>>,
    /// The checksums that outputs may have, by their paths.
    files: BTreeMap<String, Vec<Sum>>,
    /// The checksums of older files that were there when the run began, which it has not replaced yet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    older: BTreeMap<String, Sum>,
    /// The folder to which paths are relative, without symbolic links.
    #[serde(skip)]
    folder: PathBuf,
}

/// The reason why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read, or is no checkpoint.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The checkpoint has no record.
    #[error(
        "{} is a checkpoint without a record of its run: an older version or the library wrote it, and its outputs are not known; \
         only a run from the start has them all", .path.display()
    )]
    None {
        /// The checkpoint.
        path: PathBuf,
    },
    /// A later version wrote it.
    #[error("{} was written by {program}, which records more than this version can read", .path.display())]
    Newer {
        /// The checkpoint.
        path: PathBuf,
        /// What wrote it.
        program: String,
    },
    /// It belongs to another command.
    #[error("{} is a checkpoint of `trisolar {command}`", .path.display())]
    Other {
        /// The checkpoint.
        path: PathBuf,
        /// That command.
        command: String,
    },
    /// The record is damaged.
    #[error("{}: its record of the run is damaged: {reason}", .path.display())]
    Damaged {
        /// The checkpoint.
        path: PathBuf,
        /// The error.
        reason: String,
    },
    /// A path is not valid UTF-8.
    #[error("the path {} is not valid UTF-8, so that no checkpoint can hold it", .path.display())]
    NotText {
        /// The path.
        path: PathBuf,
    },
}

/// The fields that are read first.
#[derive(Deserialize)]
struct RecordHead {
    format: u32,
    program: String,
}

impl Record {
    /// The record of a new run, whose checkpoint will be at `path`.
    pub fn new(command: &str, path: &Path) -> Self {
        Self {
            format: FORMAT,
            program: concat!("trisolar ", env!("CARGO_PKG_VERSION")).into(),
            command: command.into(),
            unfinished: None,
            options: BTreeMap::new(),
            files: BTreeMap::new(),
            older: BTreeMap::new(),
            folder: folder_of(path),
        }
    }

    /// Parses the record of a checkpoint of this `command`.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn from_json(text: &str, path: &Path, command: &str) -> Result<Self, RecordError> {
        let damaged = |e: serde_json::Error| RecordError::Damaged {
            path: path.to_owned(),
            reason: e.to_string(),
        };
        let head: RecordHead = serde_json::from_str(text).map_err(damaged)?;
        if head.format > FORMAT {
            return Err(RecordError::Newer {
                path: path.to_owned(),
                program: head.program,
            });
        }
        let record: Self = serde_json::from_str(text).map_err(damaged)?;
        record.placed(path, command)
    }

    /// Sets the folder of a record that was read as a part of the file at `path`, so that its paths can be found.
    ///
    /// # Errors
    /// [`RecordError::Other`].
    pub fn placed(self, path: &Path, command: &str) -> Result<Self, RecordError> {
        if self.command != command {
            return Err(RecordError::Other {
                path: path.to_owned(),
                command: self.command,
            });
        }
        let folder = folder_of(path);
        Ok(Self { folder, ..self })
    }

    /// The record for a checkpoint at another path. Its relative paths lead from the folder of that one.
    #[must_use]
    pub fn moved(self, path: &Path) -> Self {
        let folder = folder_of(path);
        Self { folder, ..self }
    }

    /// The record of a checkpoint that is an npz.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn read(path: &Path, command: &str) -> Result<Self, RecordError> {
        let mut file = NpzReader::open(path)?;
        if !file.names()?.iter().any(|name| name == MEMBER) {
            let path = path.to_owned();
            return Err(RecordError::None { path });
        }
        Self::from_json(&file.text(MEMBER)?, path, command)
    }

    /// The command whose run it describes.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Sets the progress of the run in words; `None` if losing the checkpoint would lose no work.
    pub fn set_unfinished(&mut self, progress: Option<String>) {
        self.unfinished = progress;
    }

    /// Refuses a checkpoint of a new run that would replace that of an unfinished run of any command.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn refuse_unfinished(option: &str, path: &Path) -> Result<(), Refused> {
        let read = || -> Option<Self> {
            let text = NpzReader::open(path).ok()?.text(MEMBER).ok()?;
            serde_json::from_str(&text).ok()
        };
        match read() {
            Some(Self {
                command,
                unfinished: Some(progress),
                ..
            }) => {
                let reason = format!(
                    "it holds an unfinished run ({progress}); resume it with trisolar {command} --resume, or \
                     remove it to start again"
                );
                Err(Refused::new(option, path, reason))
            }
            _ => Ok(()),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data")
    }

    /// Adds it to a checkpoint that is an npz.
    ///
    /// # Errors
    /// [`IoError`].
    pub fn write(&self, file: &mut NpzWriter) -> Result<(), IoError> {
        file.text(MEMBER, &self.to_json())
    }

    /// Stores a group of options.
    ///
    /// # Errors
    /// [`RecordError::NotText`].
    pub fn set<T: Paths>(&mut self, group: &str, options: &T) -> Result<(), RecordError> {
        let mut options = options.clone();
        for path in options.paths() {
            *path = self.kept(path)?.into();
        }
        let Ok(Value::Object(map)) = serde_json::to_value(&options) else {
            unreachable!("options have names, and values that JSON has")
        };
        self.options.insert(group.into(), map);
        Ok(())
    }

    /// Changes or adds an option.
    pub fn extend(&mut self, group: &str, option: &str, value: impl Into<Value>) {
        let group = self.options.entry(group.into()).or_default();
        group.insert(option.into(), value.into());
    }

    /// A single value of a group.
    pub fn value(&self, group: &str, name: &str) -> Option<&Value> {
        self.options.get(group)?.get(name)
    }

    /// A group of options, with paths that are valid from the working directory.
    ///
    /// # Errors
    /// [`RecordError::Damaged`].
    pub fn get<T: Paths>(&self, group: &str) -> Result<T, RecordError> {
        let map = self.options.get(group).cloned().unwrap_or_default();
        let read: Result<T, _> = serde_json::from_value(Value::Object(map));
        let mut options = read.map_err(|e| RecordError::Damaged {
            path: self.folder.clone(),
            reason: format!("{group}: {e}"),
        })?;
        for path in options.paths() {
            *path = self.found(path);
        }
        Ok(options)
    }

    /// The first option in which a record differs from another one, with both values; `None` if all options are the same.
    pub fn difference(&self, there: &Self) -> Option<String> {
        let groups = self.options.keys().chain(there.options.keys());
        let none = Map::new();
        groups
            .flat_map(|group| {
                let of = |record: &Self| record.options.get(group).cloned();
                let [here, there] = [self, there].map(|r| of(r).unwrap_or(none.clone()));
                differing_option(&here, &there)
            })
            .next()
    }

    /// Allows the run to replace the files that are at these paths now: its own, and older ones, which are then kept.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn allow_what_is_there<'a>(
        &mut self,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), RecordError> {
        for path in paths {
            let key = self.kept(path)?;
            match Sum::of_file(path)? {
                Some(sum) if self.files.get(&key).is_some_and(|own| own.contains(&sum)) => {
                    older::own(path);
                    self.files.insert(key, vec![sum]);
                }
                Some(sum) => {
                    self.older.insert(key, sum);
                }
                None => {
                    self.files.remove(&key);
                    self.older.remove(&key);
                }
            }
        }
        Ok(())
    }

    /// Checks that the run may overwrite an output: it does not exist, or its contents are known.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn check(&self, option: &str, path: &Path) -> Result<(), Refused> {
        let refuse = |reason: String| Refused::new(option, path, reason);
        let there = Sum::of_file(path).map_err(|e| refuse(e.to_string()))?;
        match there {
            Some(sum) if !self.sums(path).contains(&sum) && !self.was_there(path, sum) => Err(refuse(
                "its contents differ from what this run wrote, and it would be overwritten; move it \
                 away to resume the run".into(),
            )),
            _ => Ok(()),
        }
    }

    /// Whether an older file with this checksum was at the path when the run began.
    fn was_there(&self, path: &Path, sum: Sum) -> bool {
        let key = self.kept(path).ok();
        key.is_some_and(|key| self.older.get(&key) == Some(&sum))
    }

    /// The checksums of the contents of a file that the run wrote.
    pub fn sums(&self, path: &Path) -> &[Sum] {
        let key = self.kept(path).ok();
        key.and_then(|key| self.files.get(&key))
            .map_or(&[], |sums| &sums[..])
    }

    /// Records files that are about to appear. Until they do, the older ones remain valid as well.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn expect(&mut self, staged: &Staged) -> Result<(), RecordError> {
        for (path, sum) in staged.sums()? {
            let sums = self.files.entry(self.kept(&path)?).or_default();
            if !sums.contains(&sum) {
                // Of the older files only the last can exist.
                let last = sums.pop();
                *sums = last.into_iter().chain([sum]).collect();
            }
        }
        Ok(())
    }

    /// Records that the expected files have appeared; returns whether that changed the record.
    pub fn settle(&mut self) -> bool {
        let mut news = false;
        for (path, sums) in &mut self.files {
            news |= self.older.remove(path).is_some() || sums.len() > 1;
            sums.drain(..sums.len().saturating_sub(1));
        }
        news
    }

    /// Takes over the checksums of files that an earlier run with the same checkpoint wrote, and of which this run says nothing.
    pub fn take_over(&mut self, before: &Self) {
        for (path, sums) in &before.files {
            let sums = self
                .files
                .entry(path.clone())
                .or_insert_with(|| sums.clone());
            if self.older.get(path).is_some_and(|sum| sums.contains(sum)) {
                self.older.remove(path);
                older::own(&self.folder.join(path));
            }
        }
    }

    /// Forgets the checksums of a file that was removed.
    pub fn forget(&mut self, path: &Path) {
        if let Ok(key) = self.kept(path) {
            self.files.remove(&key);
        }
    }

    /// A path in the stored form.
    fn kept(&self, path: &Path) -> Result<String, RecordError> {
        let kept = if path.is_absolute() {
            path.to_owned()
        } else {
            between(&self.folder, &resolved(path))
        };
        let is_relative = kept.is_relative();
        let text = kept.into_os_string().into_string();
        let text = text.map_err(|path| RecordError::NotText { path: path.into() })?;
        // Every system knows this separator, so that a run can be resumed on another one.
        Ok(match is_relative {
            true => text.replace(std::path::MAIN_SEPARATOR, "/"),
            false => text,
        })
    }

    /// A stored path in the form that is valid from the working directory.
    fn found(&self, kept: &Path) -> PathBuf {
        if kept.is_absolute() {
            return kept.to_owned();
        }
        let here = std::env::current_dir().and_then(std::fs::canonicalize);
        let whole = lexical(&self.folder.join(kept));
        here.map_or(whole.clone(), |here| between(&here, &whole))
    }
}

/// The first option of a group that has two values.
fn differing_option(here: &Map<String, Value>, there: &Map<String, Value>) -> Option<String> {
    let mut keys = here.keys().chain(there.keys());
    let key = keys.find(|key| here.get(*key) != there.get(*key))?;
    let text = |value: Option<&Value>| value.map_or("none".into(), Value::to_string);
    let [there, here] = [there, here].map(|group| text(group.get(key)));
    let option = key.replace('_', "-");
    Some(format!("--{option} ({there} there, {here} here)"))
}

/// The folder of a file, without symbolic links.
fn folder_of(path: &Path) -> PathBuf {
    Place::of(path).map_or_else(|| directory_of(path), |place| place.directory)
}

/// The absolute path, whose folder has no symbolic links.
pub fn resolved(path: &Path) -> PathBuf {
    let folder = std::fs::canonicalize(directory_of(path));
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => std::fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .map_or_else(|_| path.to_owned(), |path| lexical(&path)),
    }
}

/// Removes `.` and `..`, as if there were no symbolic links.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            component => out.push(component),
        }
    }
    out
}

/// The relative path from a folder to a path, both absolute.
fn between(folder: &Path, path: &Path) -> PathBuf {
    let (mut from, mut to) = (folder.components().peekable(), path.components().peekable());
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    let way: PathBuf = from.map(|_| Component::ParentDir).chain(to).collect();
    if way.as_os_str().is_empty() {
        ".".into()
    } else {
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::atomic::{stage, write_with};
    use std::fs;
    use std::io::Write as _;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Options {
        every: f64,
        out: Vec<PathBuf>,
    }

    impl Paths for Options {
        fn paths(&mut self) -> Vec<&mut PathBuf> {
            self.out.iter_mut().collect()
        }
    }

    #[test]
    fn paths_are_found_from_the_checkpoint_wherever_its_folder_is() {
        for (folder, path, way) in [
            ("/a/b", "/a/b/c", "c"),
            ("/a/b", "/a/c", "../c"),
            ("/a/b", "/c/d", "../../c/d"),
            ("/", "/c", "c"),
            ("/a/b", "/a/b", "."),
        ] {
            let found = between(Path::new(folder), Path::new(path));
            assert_eq!(found, Path::new(way));
            assert_eq!(lexical(&Path::new(folder).join(found)), Path::new(path));
        }
        let parent = tempfile::tempdir().unwrap();
        let parent = fs::canonicalize(parent.path()).unwrap();
        let (a, b) = (parent.join("a"), parent.join("b"));
        fs::create_dir_all(a.join("run/out")).unwrap();
        // Relative to the working directory of this test, which is somewhere else.
        let here = fs::canonicalize(std::env::current_dir().unwrap()).unwrap();
        let given = between(&here, &a.join("run/out/end.npz"));
        let options = Options {
            every: 0.125,
            out: vec![given.clone(), "/absolute/end.npz".into()],
        };
        let mut record = Record::new("nbody", &a.join("run/c.npz"));
        record.set("output", &options).unwrap();
        assert_eq!(record.get::<Options>("output").unwrap(), options);
        let json = record.to_json();
        assert!(json.contains("\"out/end.npz\""), "{json}");
        fs::rename(&a, &b).unwrap();
        let moved = Record::from_json(&json, &b.join("run/c.npz"), "nbody").unwrap();
        let found = moved.get::<Options>("output").unwrap();
        assert_eq!(resolved(&found.out[0]), b.join("run/out/end.npz"));
        assert_eq!(found.out[1], Path::new("/absolute/end.npz"));
        // The stored form does not change if a path is found and stored again.
        let mut again = moved.clone();
        again.set("output", &found).unwrap();
        assert_eq!(again, moved);
    }

    #[test]
    fn what_others_wrote_is_told_from_what_the_run_wrote_or_was_told_to_replace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("end.txt");
        let mut record = Record::new("nbody", &folder.path().join("c.npz"));
        let write = |text: &str| {
            stage(|| {
                write_with(&path, |file| {
                    file.write_all(text.as_bytes()).map_err(|e| file.error(e))
                })
            })
            .unwrap()
            .1
        };
        record.check("--out", &path).unwrap();
        fs::write(&path, "before").unwrap();
        assert!(record.check("--out", &path).is_err());
        record.allow_what_is_there([path.as_path()]).unwrap();
        record.check("--out", &path).unwrap();
        for text in ["first", "second"] {
            let staged = write(text);
            record.expect(&staged).unwrap();
            record.check("--out", &path).unwrap();
            staged.commit().unwrap();
            record.check("--out", &path).unwrap();
            assert!(record.settle() && !record.settle());
        }
        fs::write(&path, "first").unwrap();
        let said = record.check("--out", &path).unwrap_err().to_string();
        assert!(
            said.contains("for '--out': its contents differ from what this run wrote"),
            "{said}"
        );
        fs::remove_file(&path).unwrap();
        record.check("--out", &path).unwrap();
    }

    #[test]
    fn an_unfinished_run_is_kept_from_new_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.npz");
        let mut record = Record::new("cluster", &path);
        let refused = || Record::refuse_unfinished("--checkpoint", &path);
        refused().unwrap();
        for (progress, words) in [
            (Some("time 1 of 2".to_owned()), Some("(time 1 of 2)")),
            (None, None),
        ] {
            record.set_unfinished(progress);
            let mut file = NpzWriter::create(&path).unwrap();
            record.write(&mut file).unwrap();
            file.finish().unwrap();
            let said = refused().err().map(|e| e.to_string());
            assert_eq!(said.is_some(), words.is_some());
            let all = ["for '--checkpoint'", "trisolar cluster --resume"]
                .into_iter()
                .chain(words);
            assert!(said.is_none_or(|said| all.into_iter().all(|word| said.contains(word))));
        }
        fs::write(&path, "not a checkpoint").unwrap();
        refused().unwrap();
    }

    #[test]
    fn records_of_other_commands_and_versions_are_told() {
        let path = Path::new("c.npz");
        let record = Record::new("nbody", path);
        let json = record.to_json();
        let read = |text: &str, command| Record::from_json(text, path, command);
        assert_eq!(read(&json, "nbody").unwrap(), record);
        let said = |result: Result<Record, RecordError>| result.unwrap_err().to_string();
        assert_eq!(
            said(read(&json, "cluster")),
            "c.npz is a checkpoint of `trisolar nbody`"
        );
        let newer = json.replace("\"format\":1", "\"format\":2");
        assert!(said(read(&newer, "nbody")).contains("more than this version can read"));
        assert!(said(read("{}", "nbody")).contains("damaged"));
    }
}
