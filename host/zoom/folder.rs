//! The folder of a sequence: what it is of, and a few files for each frame. It is all that a run needs to go on where
//! another one ended.
//!
//! - `sequence.json`: everything that the frames' files depend on
//! - `frame-00012.png`, and `.npy` if asked for
//! - `frame-00012.json`: the frame's specification and summary; written last, so that a frame that has it is finished
//! - `frame-00012.part`: what is done of an unfinished frame
//!
//! Frames of a sweep of two parameters have both values in their names: `frame-00012_mass2=10_dt=0.002.png`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::frame::short;
use super::sequence::Frame;
use crate::divergence::Parameter;
use crate::io::IoError;
use crate::io::atomic::{check_writable, write_with};
use crate::io::read::{self, Limit};

/// The name of the file that says what the sequence is of.
const CONTENTS: &str = "sequence.json";

/// A folder that holds, or will hold, one certain sequence.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// What follows the number in the names of each frame's files; nothing, where there are none.
    suffixes: Vec<String>,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It holds another sequence.
    #[error(
        "{path} holds another sequence ({key} differs); choose another folder, or --restart to replace its frames"
    )]
    Different {
        /// The folder.
        path: String,
        /// The first key of `sequence.json` that has another value.
        key: String,
    },
    /// It cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Folder {
    /// Creates the folder, or goes on with one whose contents are the same.
    ///
    /// # Errors
    /// [`FolderError::Different`] unless `restart`, with which the frames of the other sequence are removed.
    pub fn open(path: &Path, contents: &Value, restart: bool) -> Result<Self, FolderError> {
        match fs::create_dir(path) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(IoError::system(path, "create", e).into());
            }
            _ => {}
        }
        let folder = Self {
            path: path.to_owned(),
            suffixes: Vec::new(),
        };
        let file = path.join(CONTENTS);
        check_writable(&file)?;
        match read::text(&file, Limit::RECORD) {
            Ok(text) if !restart => folder.compare(&text, contents)?,
            Ok(_) => folder.clear()?,
            Err(IoError::NotFound { .. }) => {
                // Frames of nobody knows what must not be taken for this sequence's.
                if !folder.frames()?.is_empty() && !restart {
                    return Err(folder.different(CONTENTS));
                }
                folder.clear()?;
            }
            Err(e) => return Err(e.into()),
        }
        folder.write(&file, contents)?;
        Ok(folder)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same folder with the values of two parameters in the names of the frames' files.
    #[must_use]
    pub fn named_by_values(mut self, frames: &[Frame]) -> Self {
        let suffix = |frame: &Frame| -> String {
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

    /// Writes a JSON file, all of it or nothing.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, file: &Path, value: &Value) -> Result<(), IoError> {
        write_with(file, |out| {
            let text = format!("{value:#}\n");
            out.write_all(text.as_bytes()).map_err(|e| out.error(e))
        })
    }

    fn compare(&self, text: &str, contents: &Value) -> Result<(), FolderError> {
        let different = |key| self.different(key);
        let there: Value = serde_json::from_str(text).map_err(|_| different(CONTENTS))?;
        let (Some(there), Some(wanted)) = (there.as_object(), contents.as_object()) else {
            return Err(different(CONTENTS));
        };
        let keys = wanted.keys().chain(there.keys());
        match keys
            .into_iter()
            .find(|key| there.get(*key) != wanted.get(*key))
        {
            Some(key) => Err(different(key)),
            None => Ok(()),
        }
    }

    fn different(&self, key: &str) -> FolderError {
        FolderError::Different {
            path: self.path.display().to_string(),
            key: key.to_owned(),
        }
    }

    /// The frames' files.
    fn frames(&self) -> Result<Vec<PathBuf>, IoError> {
        let failed = |e| IoError::system(&self.path, "read", e);
        let entries = fs::read_dir(&self.path).map_err(failed)?;
        let paths: Vec<_> = entries
            .map(|entry| entry.map(|e| e.path()))
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        Ok(paths.into_iter().filter(|path| is_frame(path)).collect())
    }

    /// Removes the frames' files, and then what said of which sequence they are.
    fn clear(&self) -> Result<(), IoError> {
        let contents = self.path.join(CONTENTS);
        for path in self.frames()?.iter().chain([&contents]) {
            remove(path)?;
        }
        Ok(())
    }
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

/// Whether a file is one of a frame's, by its name.
fn is_frame(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Values have points in them.
    let parts = name
        .strip_prefix("frame-")
        .and_then(|rest| rest.rsplit_once('.'));
    parts.is_some_and(|(stem, extension)| {
        let mut words = stem.split('_');
        let number = words.next().unwrap_or_default();
        let (mut settings, count) = (words.clone(), words.count());
        number.len() >= 5
            && number.bytes().all(|b| b.is_ascii_digit())
            && (count == 0 || count == 2)
            && settings.all(is_setting)
            && ["png", "npy", "json", "part"].contains(&extension)
    })
}

/// Whether a part of a name is a parameter's with its value.
fn is_setting(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, value)| {
        name.parse::<Parameter>().is_ok() && value.parse::<f64>().is_ok()
    })
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
    fn frames_are_known_by_their_names() {
        for (name, known) in [
            ("frame-00001.png", true),
            ("frame-123456.part", true),
            ("frame-00001_mass2=10_dt=0.002.npy", true),
            ("frame-00001_x1=-1.5_shift=1e-7.json", true),
            ("frame-00001_mass2=10.npy", false),
            ("frame-00001_mass2=10_mine=3.npy", false),
            ("frame-00001_mass2=10_dt=0.002_dt=3.npy", false),
            ("frame-00001_mine.png", false),
            ("frame-00001.png.txt", false),
            ("frame-1.png", false),
            ("frame-notes.png", false),
        ] {
            assert_eq!(is_frame(Path::new(name)), known, "{name}");
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
