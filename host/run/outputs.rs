//! The outputs of a run, declared once: checked against each other and against its inputs before work starts, and locked
//! during the run.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::Lock;
use super::new_folders::NewFolders;
use super::place::Place;
use crate::io::atomic::{self, check_writable, directory_of, short_name};
use crate::io::{IoError, older, system};

/// Names of the files that a run writes into a folder.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// A word for these files.
    pub what: &'static str,
    /// Whether a file of this name is one of them.
    pub owns: fn(&OsStr) -> bool,
    /// Whether missing parent folders are created as well.
    pub parents: bool,
    /// Whether older files of these names are kept, as those of single outputs are; otherwise the command has a rule of its own.
    pub keeps_older: bool,
}

/// The role of a path.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// A file of this name.
    File,
    /// A file that exists only during the run.
    Working,
    /// A folder of files, which is created.
    Folder(Names),
    /// A file that is read.
    Input,
}

/// A path and the option that gave it.
#[derive(Clone, Debug)]
struct OutputPath {
    option: String,
    given: PathBuf,
    role: Role,
    /// The file to which the path leads, if it can be reached.
    place: Option<Place>,
}

/// The files that a run will write, and those that it reads.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    entries: Vec<OutputPath>,
}

/// A refused output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value '{given}' for '{option}': {reason}")]
pub struct Refused {
    /// The option, as on the command line.
    pub option: String,
    /// The given value.
    pub given: String,
    /// The reason.
    pub reason: String,
}

impl Refused {
    /// A path that an option gave.
    pub fn new(option: &str, given: &Path, reason: impl ToString) -> Self {
        Self {
            option: option.into(),
            given: given.display().to_string(),
            reason: reason.to_string(),
        }
    }
}

impl Outputs {
    /// No outputs.
    pub fn new() -> Self {
        Self::default()
    }

    fn add(&mut self, option: &str, path: &Path, role: Role) -> &mut Self {
        self.entries.push(OutputPath {
            option: option.into(),
            given: path.to_owned(),
            role,
            place: Place::of(path),
        });
        self
    }

    /// A file that the run writes; `option` gave its name (`--out`).
    pub fn file(&mut self, option: &str, path: &Path) -> &mut Self {
        self.add(option, path, Role::File)
    }

    /// A file that the run keeps beside an output until that is complete.
    pub fn working(&mut self, option: &str, path: &Path) -> &mut Self {
        self.add(option, path, Role::Working)
    }

    /// A folder that the run writes files of these names into.
    pub fn folder(&mut self, option: &str, path: &Path, names: Names) -> &mut Self {
        self.add(option, path, Role::Folder(names))
    }

    /// A file that the run reads.
    pub fn input(&mut self, option: &str, path: &Path) -> &mut Self {
        self.add(option, path, Role::Input)
    }

    /// Checks that all outputs can be written, and that no file has two purposes (two outputs, or output and input), even if it is
    /// reached by different names, links or folders. Creates nothing.
    ///
    /// # Errors
    /// [`Refused`] with the option, the path and the obstacle.
    pub fn check(&self) -> Result<(), Refused> {
        for entry in &self.entries {
            let refuse = |e: IoError| Refused::new(&entry.option, &entry.given, e);
            match entry.role {
                Role::File => check_writable(&entry.given).map_err(refuse)?,
                Role::Folder(names) => check_folder(&entry.given, names.parents).map_err(refuse)?,
                Role::Working | Role::Input => {}
            }
        }
        for (n, entry) in self.entries.iter().enumerate() {
            for other in &self.entries[..n] {
                match (entry.role, other.role) {
                    (Role::Input, Role::Input) => {}
                    (Role::Input, _) => other.refuse_if_it_is(entry)?,
                    _ => entry.refuse_if_it_is(other)?,
                }
            }
            entry.refuse_if_it_is_a_stream()?;
        }
        Ok(())
    }

    /// Checks them, creates the folders, and locks everything for this process until the claim is dropped. Removes the
    /// remains of these files that killed runs left. When the claim is dropped, new folders without files are removed. From then on,
    /// an older file under the name of an output is kept when the output appears ([`older`]).
    ///
    /// # Errors
    /// [`Refused`], as [`check`](Self::check), or because another run writes one of them.
    pub fn claim(mut self) -> Result<Claim, Refused> {
        self.check()?;
        let mut folders = NewFolders::default();
        for entry in &mut self.entries {
            if let Role::Folder(_) = entry.role {
                let failed = |e| {
                    let e = IoError::system(&entry.given, "create", e);
                    Refused::new(&entry.option, &entry.given, e)
                };
                folders.create(&entry.given).map_err(failed)?;
                entry.place = Place::of(&entry.given);
            }
        }
        // All runs lock in the same order, so that one of two concurrent runs gets all locks.
        let mut wanted: BTreeMap<(PathBuf, OsString), &OutputPath> = BTreeMap::new();
        for entry in &self.entries {
            if let Some(lock) = entry.lock() {
                wanted.insert(lock, entry);
            }
        }
        let mut locks = Vec::new();
        for ((folder, name), entry) in &wanted {
            let taken = Lock::take(folder, name);
            let refuse = |busy| Refused::new(&entry.option, &entry.given, format!("it {busy}"));
            locks.extend(taken.map_err(refuse)?);
        }
        self.remove_abandoned();
        self.keep_older();
        Ok(Claim {
            _locks: locks,
            _folders: folders,
        })
    }

    /// Lets older files under the names of these outputs be kept.
    fn keep_older(&self) {
        for entry in &self.entries {
            match (entry.role, &entry.place) {
                (Role::File, Some(place)) => older::keep(&place.path()),
                (Role::Folder(names), Some(place)) if names.keeps_older => {
                    older::keep_in(&place.path(), names.owns);
                }
                _ => {}
            }
        }
    }

    /// Removes the temporary files of these outputs that killed runs left, as [`claim`](Self::claim) does: for outputs that are only
    /// [checked](Self::check).
    pub fn remove_abandoned(&self) {
        let mut folders: BTreeMap<PathBuf, Vec<&OutputPath>> = BTreeMap::new();
        for entry in &self.entries {
            if let (Some(place), false) = (&entry.place, matches!(entry.role, Role::Input)) {
                let folder = match entry.role {
                    Role::Folder(_) => {
                        // Before the folder existed, its directory was probed.
                        folders.entry(place.directory.clone()).or_default();
                        place.path()
                    }
                    _ => place.directory.clone(),
                };
                folders.entry(folder).or_default().push(entry);
            }
        }
        for (folder, entries) in folders {
            atomic::remove_abandoned(&folder, |name| {
                let owns = |entry: &&OutputPath| match (entry.role, &entry.place) {
                    (Role::Folder(names), _) => (names.owns)(name),
                    (_, Some(place)) => short_name(&place.name) == name,
                    _ => false,
                };
                name == PROBE || entries.iter().any(owns)
            });
        }
    }
}

impl OutputPath {
    /// The lock: a folder, and a name in it.
    fn lock(&self) -> Option<(PathBuf, OsString)> {
        let place = self.place.as_ref()?;
        match self.role {
            Role::File if self.is_kept() => Some((place.directory.clone(), place.name.clone())),
            Role::Folder(names) => Some((place.path(), names.what.into())),
            _ => None,
        }
    }

    /// Whether it is or will be a regular file. Several runs may write to a device.
    fn is_kept(&self) -> bool {
        fs::metadata(&self.given).map_or(true, |m| m.is_file())
    }

    fn refuse(&self, reason: String) -> Refused {
        Refused::new(&self.option, &self.given, reason)
    }

    /// Refuses an output that is the same file as another output or an input.
    fn refuse_if_it_is(&self, other: &Self) -> Result<(), Refused> {
        let (Some(place), Some(its)) = (&self.place, &other.place) else {
            return Ok(());
        };
        let (option, path) = (&other.option, other.given.display());
        if place.is(its) {
            return Err(self.refuse(match other.role {
                Role::Input => {
                    format!("it is the input '{path}' of {option}, which would be overwritten")
                }
                Role::Working => {
                    format!("it is '{path}', which {option} needs during the run")
                }
                Role::File | Role::Folder(_) => {
                    format!("it is the same as '{path}' of {option}; each output needs a file of its own")
                }
            }));
        }
        if other.writes(place) {
            let reason = format!("it is one of the files that {option} writes into '{path}'");
            return Err(self.refuse(reason));
        }
        if self.writes(its) {
            let reason = format!("one of the files that it writes there is '{path}' of {option}");
            return Err(self.refuse(reason));
        }
        Ok(())
    }

    /// Whether it is a folder into which this file is written.
    fn writes(&self, file: &Place) -> bool {
        let (Role::Folder(names), Some(folder)) = (self.role, &self.place) else {
            return false;
        };
        (file.is_in(folder) && (names.owns)(&file.name))
            || (file.has_other_names()
                && folder
                    .entries()
                    .any(|(name, id)| (names.owns)(&name) && file.id() == Some(id)))
    }

    /// Refuses an output that the standard output or the standard error is redirected to.
    fn refuse_if_it_is_a_stream(&self) -> Result<(), Refused> {
        let (Some(id), false) = (
            self.place.as_ref().and_then(Place::id),
            matches!(self.role, Role::Input),
        ) else {
            return Ok(());
        };
        for (name, stream) in system::standard_outputs() {
            if let Ok(stream) = stream
                && Place::id_of(&stream) == Some(id)
            {
                let reason = format!("the standard {name} goes to the same file");
                return Err(self.refuse(reason));
            }
        }
        Ok(())
    }
}

/// The file that a run begins in a folder, and removes, to see whether it accepts files.
const PROBE: &str = ".trisolar";

/// Checks that a folder can be used: it exists and accepts files, or can be created.
fn check_folder(path: &Path, parents: bool) -> Result<(), IoError> {
    if path.exists() {
        if path.is_dir() {
            return check_writable(path.join(PROBE));
        }
        let e = io::Error::from(io::ErrorKind::AlreadyExists);
        return Err(IoError::system(path, "create", e));
    }
    let mut above = directory_of(path);
    while parents && !above.exists() {
        above = directory_of(&above);
    }
    check_writable(above.join(PROBE)).map_err(|e| match e {
        IoError::NoDirectory { directory, .. } => IoError::NoDirectory {
            path: path.to_owned(),
            operation: "create",
            directory,
        },
        e => e,
    })
}

/// Outputs that are locked for this process, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Claim {
    // The locks are dropped first: their files may be in the folders.
    _locks: Vec<Lock>,
    _folders: NewFolders,
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const FRAMES: Names = Names {
        what: "frames",
        owns: |name| name.to_string_lossy().starts_with("frame-"),
        parents: false,
        keeps_older: false,
    };

    fn refused(declare: impl FnOnce(&mut Outputs)) -> Option<String> {
        let mut outputs = Outputs::new();
        declare(&mut outputs);
        outputs.check().err().map(|e| e.to_string())
    }

    #[test]
    fn two_purposes_of_one_file_are_refused_by_whatever_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("there"), "x").unwrap();
        symlink(at("there"), at("link")).unwrap();
        fs::hard_link(at("there"), at("hard")).unwrap();
        fs::create_dir(at("d")).unwrap();
        symlink(at("d"), at("e")).unwrap();
        for (a, b) in [
            ("new", "new"),
            ("new", "./new"),
            ("new", "d/../new"),
            ("d/new", "e/new"),
            ("there", "link"),
            ("there", "hard"),
            ("link", "hard"),
        ] {
            let said = refused(|o| {
                o.file("--series", &at(a)).file("--out", &at(b));
            });
            let said = said.expect("the same");
            assert!(said.contains("for '--out'"), "{said}");
            assert!(said.contains(&format!("{a}' of --series")), "{said}");
            // The same for an input, whichever is declared first.
            for input_first in [false, true] {
                let said = refused(|o| {
                    if input_first {
                        o.input("--config", &at(a)).file("--out", &at(b));
                    } else {
                        o.file("--out", &at(b)).input("--config", &at(a));
                    }
                });
                let said = said.expect("the same");
                assert!(said.contains("for '--out'"), "{said}");
                assert!(
                    said.contains("of --config, which would be overwritten"),
                    "{said}"
                );
            }
        }
        let said = refused(|o| {
            o.file("--out", &at("a")).file("--series", &at("b"));
            o.input("--config", &at("c")).input("--input", &at("c"));
        });
        assert_eq!(said, None);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            5,
            "nothing is left"
        );
    }

    #[test]
    fn a_folder_and_the_files_it_takes_are_the_same_purpose() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for made in [false, true] {
            if made {
                fs::create_dir(at("z")).unwrap();
                fs::write(at("z/frame-1"), "x").unwrap();
                fs::hard_link(at("z/frame-1"), at("hard")).unwrap();
            }
            let with = |name: &str| {
                refused(|o| {
                    o.folder("--out", &at("z"), FRAMES);
                    o.file("--film", &at(name));
                })
            };
            assert!(with("z").is_some());
            if made {
                let said = with("z/frame-2").expect("a frame's name");
                assert!(
                    said.contains("one of the files that --out writes into"),
                    "{said}"
                );
                assert!(with("hard").is_some());
                assert_eq!(with("z/film"), None);
                let said = refused(|o| {
                    o.input("--config", &at("z/frame-1"));
                    o.folder("--out", &at("z"), FRAMES);
                });
                assert!(said.is_some());
            }
        }
    }

    #[test]
    fn a_claim_keeps_others_away_and_removes_what_the_dead_left() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("z")).unwrap();
        for left in [
            ".trisolar-a.npz-abcdef.tmp",
            ".trisolar-b.npz-abcdef.tmp",
            "z/.trisolar-frame-3-abcdef.tmp",
            "z/.trisolar-mine-abcdef.tmp",
            // A run that was killed while it looked whether the folder, or before that its directory, accepts files.
            "z/.trisolar-.trisolar-abcdef.tmp",
            ".trisolar-.trisolar-abcdef.tmp",
        ] {
            fs::write(at(left), "").unwrap();
        }
        let claim = || {
            let mut outputs = Outputs::new();
            outputs.file("--out", &at("a.npz"));
            outputs.folder("--frames", &at("z"), FRAMES);
            outputs.claim()
        };
        let first = claim().unwrap();
        let there = |name: &str| at(name).exists();
        assert!(!there(".trisolar-a.npz-abcdef.tmp") && there(".trisolar-b.npz-abcdef.tmp"));
        assert!(!there("z/.trisolar-frame-3-abcdef.tmp") && there("z/.trisolar-mine-abcdef.tmp"));
        assert!(!there("z/.trisolar-.trisolar-abcdef.tmp"));
        assert!(!there(".trisolar-.trisolar-abcdef.tmp"));
        let said = claim().unwrap_err().to_string();
        let expected = format!("another run (process {} on", std::process::id());
        assert!(said.contains(&expected), "{said}");
        drop(first);
        drop(claim().unwrap());
        assert!(!there(".trisolar-a.npz.lock") && !there("z/.trisolar-frames.lock"));
    }
}
