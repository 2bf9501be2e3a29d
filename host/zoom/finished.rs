//! Finished frames: the JSON file of each, which is written last, and has the checksums of the frame's other files.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::folder::Folder;
use trisolar_io::IoError;
use trisolar_io::atomic::Staged;
use trisolar_io::read::{self, Limit};
use trisolar_io::sum::{Sum, sealed, unsealed};

/// The state of a frame, according to its files.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameState<S> {
    /// All of its files have the bytes that were written.
    Finished(S),
    /// There is no summary.
    Unfinished,
    /// It was finished, but a file is missing or damaged; the text describes it.
    Damaged(String),
}

/// The contents of a frame's JSON file besides its summary and its new files.
pub(super) struct FrameParts {
    pub specification: Value,
    /// Everything on which the picture depends besides the specification; null if there is nothing.
    pub picture: Value,
    /// The checksums of files that remain.
    pub kept: BTreeMap<String, Sum>,
}

/// The frame that a run needs.
pub(super) struct Wanted<'a> {
    pub specification: &'a Value,
    /// See [`FrameParts::picture`].
    pub picture: &'a Value,
    /// Whether there is a picture.
    pub has_picture: bool,
    /// The extension of the file of arrays, if there is one.
    pub arrays: Option<&'static str>,
}

/// The key of a picture's format in [`FrameParts::picture`].
pub(super) const FORMAT: &str = "format";

/// The extension of the picture with this description; those that name no format are PNG.
pub(super) fn picture_extension(picture: &Value) -> &str {
    picture[FORMAT].as_str().unwrap_or("png")
}

/// The frame that there is.
pub(super) enum FoundFrame<S> {
    State(FrameState<S>),
    /// It is finished, but its picture has another look.
    OtherPicture {
        summary: S,
        /// See [`FrameParts::picture`].
        picture: Value,
        /// The checksums of its files.
        files: BTreeMap<String, Sum>,
    },
}

/// Gives a frame's files their names, and then writes the frame's JSON file.
///
/// # Errors
/// A file cannot be read, renamed or written.
pub(super) fn commit(
    index: u32,
    parts: FrameParts,
    summary: &impl Serialize,
    files: Staged,
    folder: &Folder,
) -> Result<(), IoError> {
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let mut sums = parts.kept;
    sums.extend(files.sums()?.iter().map(|(path, sum)| (name(path), *sum)));
    files.commit()?;
    let mut object =
        json!({ "summary": summary, "specification": parts.specification, "files": sums });
    if !parts.picture.is_null() {
        object["picture"] = parts.picture;
    }
    folder.write(&folder.file(index, "json"), &sealed(object))
}

/// Checks the bytes of all files of a frame, whose JSON file is at `path`; returns their names, with that of the JSON file last.
///
/// # Errors
/// What is damaged, or a file that cannot be read.
pub(super) fn checked_files(path: &Path) -> Result<Result<Vec<String>, String>, IoError> {
    let text = read::text(path, Limit::RECORD)?;
    let damaged = |what: &str| format!("{}: {what}", path.display());
    let object = match unsealed(&text) {
        Ok(object) => object,
        Err(what) => return Ok(Err(damaged(what))),
    };
    let sums: BTreeMap<String, Sum> = match serde_json::from_value(object["files"].clone()) {
        Ok(sums) => sums,
        Err(e) => return Ok(Err(damaged(&e.to_string()))),
    };
    for (name, sum) in &sums {
        // Only files beside it belong to a frame.
        let beside = path.with_file_name(name);
        if beside.parent() != path.parent() {
            return Ok(Err(damaged(&format!("it names {name}"))));
        }
        if let Some(what) = sum.difference(&beside)? {
            return Ok(Err(format!("{}: {what}", beside.display())));
        }
    }
    let json = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Ok(sums.into_keys().chain([json.into_owned()]).collect()))
}

/// The state of a frame. All bytes of its files are checked.
///
/// # Errors
/// A file cannot be read.
pub(super) fn state<S: DeserializeOwned>(
    index: u32,
    wanted: &Wanted<'_>,
    folder: &Folder,
) -> Result<FoundFrame<S>, IoError> {
    use FoundFrame::State;
    let name = |extension| folder.file(index, extension);
    let path = name("json");
    let damaged = |path: &Path, what: &str| {
        let what = format!("{}: {what}", path.display());
        Ok(State(FrameState::Damaged(what)))
    };
    let text = match read::text(&path, Limit::RECORD) {
        Ok(text) => text,
        Err(IoError::NotFound { .. }) => return Ok(State(FrameState::Unfinished)),
        Err(IoError::Malformed { .. }) => return damaged(&path, "it is incomplete"),
        Err(error) => return Err(error),
    };
    let object = match unsealed(&text) {
        Ok(object) => object,
        Err(what) => return damaged(&path, what),
    };
    if object["specification"] != *wanted.specification {
        return damaged(&path, "it belongs to another map");
    }
    let picture = wanted
        .has_picture
        .then(|| picture_extension(&object["picture"]));
    for extension in picture.into_iter().chain(wanted.arrays) {
        let path = name(extension);
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let Ok(sum) = serde_json::from_value::<Sum>(object["files"][&*file].clone()) else {
            return damaged(&path, "there is no record of it");
        };
        if let Some(what) = sum.difference(&path)? {
            return damaged(&path, &what);
        }
    }
    let summary = match serde_json::from_value(object["summary"].clone()) {
        Ok(summary) => summary,
        Err(e) => return damaged(&path, &e.to_string()),
    };
    if object["picture"] == *wanted.picture {
        return Ok(State(FrameState::Finished(summary)));
    }
    match serde_json::from_value(object["files"].clone()) {
        Ok(files) => Ok(FoundFrame::OtherPicture {
            summary,
            picture: object["picture"].clone(),
            files,
        }),
        Err(e) => damaged(&path, &e.to_string()),
    }
}
