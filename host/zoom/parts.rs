//! The folders of the parts of a sequence, and the folder of the whole sequence that is made of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::finished::checked_files;
use super::folder::{
    CONTENTS, COUNT, Folder, FolderError, PART, RUN, contents_of, differing_value, part_in,
};
use trisolar_io::IoError;
use trisolar_io::atomic::write_with;
use trisolar_io::read;
use trisolar_run::parts::{PartsError, check_whole};
use trisolar_run::{Part, Record};

/// All parts of a sequence, finished and undamaged.
#[derive(Debug)]
pub struct PartFolders {
    command: String,
    whole: PathBuf,
    /// The description of the whole sequence, without its run.
    contents: Value,
    run: Record,
    /// The files of the frames, with each frame's JSON file behind its others.
    files: Vec<PathBuf>,
}

/// The folder of a part.
struct PartFolder {
    path: PathBuf,
    part: Part,
    contents: Value,
    /// The JSON files of its finished frames.
    frames: BTreeMap<u64, PathBuf>,
}

impl PartFolder {
    fn read(path: &Path) -> Result<Self, PartsError> {
        let folder_error = |e: FolderError| match e {
            FolderError::Io(e) => PartsError::Io(e),
            FolderError::Run(e) => PartsError::Run(e),
            FolderError::NoSequence { reason, .. } => PartsError::refused(path, reason),
            e => PartsError::refused(path, e.to_string()),
        };
        let contents = contents_of(path).map_err(folder_error)?;
        let part = part_in(&contents, path).map_err(folder_error)?;
        let part = part.ok_or_else(|| {
            PartsError::refused(path, "it is no part of a sequence, but holds a whole one")
        })?;
        Ok(Self {
            path: path.to_owned(),
            part,
            contents,
            frames: frames(path)?,
        })
    }

    fn frames_of_all(&self) -> u64 {
        self.contents[COUNT].as_u64().unwrap_or_default()
    }

    fn is_finished(&self) -> bool {
        let mut span = self.part.span(self.frames_of_all());
        span.all(|frame| self.frames.contains_key(&frame))
    }

    /// The record of its run, and the command.
    fn run(&self) -> Result<(Record, String), PartsError> {
        let run = &self.contents[RUN];
        let command = run["command"].as_str().unwrap_or_default();
        let file = self.path.join(CONTENTS);
        let record = Record::from_json(&run.to_string(), &file, command)?;
        Ok((record, command.to_owned()))
    }

    /// The description of the whole sequence.
    fn of_the_whole(&self) -> Value {
        let mut contents = self.contents.clone();
        if let Some(map) = contents.as_object_mut() {
            map.remove(PART);
            map.remove(RUN);
        }
        contents
    }
}

/// The JSON files of the finished frames in a folder, by their numbers.
fn frames(folder: &Path) -> Result<BTreeMap<u64, PathBuf>, IoError> {
    let files = super::folder::frames_in(folder)?;
    let number = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let stem = name.strip_suffix(".json")?.strip_prefix("frame-")?;
        // The record of an unfinished frame is JSON, too.
        let whole = !stem.ends_with(".part");
        let number = stem.split('_').next()?.parse().ok()?;
        whole.then_some((number, path.clone()))
    };
    Ok(files.into_iter().filter_map(number).collect())
}

impl PartFolders {
    /// Reads the parts in these folders, and checks that they are all parts of one sequence, without damage.
    ///
    /// # Errors
    /// [`PartsError`].
    pub fn read(paths: &[PathBuf]) -> Result<Self, PartsError> {
        let parts: Vec<PartFolder> = paths
            .iter()
            .map(|path| PartFolder::read(path))
            .collect::<Result<_, _>>()?;
        check_whole((parts.iter()).map(|p| (p.part, p.path.as_path(), p.is_finished())))?;
        let first = &parts[0];
        let (run, command) = first.run()?;
        let contents = first.of_the_whole();
        let mut files = Vec::new();
        for part in &parts {
            let differs = |what: String| {
                let first = first.path.display();
                PartsError::refused(
                    &part.path,
                    format!("it belongs to another sequence than {first}: {what} differs"),
                )
            };
            let (its, its_command) = part.run()?;
            if its_command != command {
                return Err(differs(format!(
                    "the command (trisolar {command} there, trisolar {its_command} here)"
                )));
            }
            if let Some(what) = its.difference(&run) {
                return Err(differs(what));
            }
            let whole = part.of_the_whole();
            if whole != contents {
                return Err(differs(differing_value("sequence", [&contents, &whole])));
            }
            for frame in part.part.span(part.frames_of_all()) {
                let json = &part.frames[&frame];
                let names = checked_files(json)?.map_err(|what| {
                    let reason = format!("{what}; run this part again");
                    PartsError::refused(&part.path, reason)
                })?;
                files.extend(names.iter().map(|name| json.with_file_name(name)));
            }
        }
        let whole = first.part.whole(&first.path).ok_or_else(|| {
            let wanted = first.part.path(Path::new("NAME"));
            let reason = format!(
                "its name must be {}, as the run gave it, so that NAME is the folder of the whole sequence",
                wanted.display()
            );
            PartsError::refused(&first.path, reason)
        })?;
        Ok(Self {
            command,
            whole,
            contents,
            run,
            files,
        })
    }

    /// The command that computed them.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The folder of the whole sequence.
    pub fn whole(&self) -> &Path {
        &self.whole
    }

    /// Copies the frames of all parts to the folder of the whole sequence, which is created unless it holds this sequence.
    ///
    /// # Errors
    /// The folder holds another sequence, or a file cannot be read or written.
    pub fn copy(&self) -> Result<(), FolderError> {
        let path = self.whole.join(CONTENTS);
        // A record that is there knows the films that were made.
        let there = Folder::run_of(&self.whole, &self.command).ok();
        let there = there.filter(|there| there.difference(&self.run).is_none());
        let run = match there {
            Some(run) => run,
            None => self.run.clone().moved(&path),
        };
        let folder = Folder::open_for(&self.whole, &self.contents, Some(run), false)?;
        for file in &self.files {
            copy(
                file,
                &folder.path().join(file.file_name().unwrap_or_default()),
            )?;
        }
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), IoError> {
    let mut source = read::open(from)?;
    write_with(to, |file| {
        std::io::copy(&mut source, file).map_err(|e| file.error(e))?;
        Ok(())
    })
}
