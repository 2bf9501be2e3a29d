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
use trisolar_io::sum::Sum;

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

/// Gives a frame's files their names, and then writes the frame's JSON file.
///
/// # Errors
/// A file cannot be read, renamed or written.
pub(super) fn commit(
    index: u32,
    specification: &Value,
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
    let sums = files.sums()?;
    let sums: BTreeMap<String, Sum> = sums.iter().map(|(path, sum)| (name(path), *sum)).collect();
    files.commit()?;
    let mut object = json!({ "summary": summary, "specification": specification, "files": sums });
    object["crc32"] = checksum(&object).into();
    folder.write(&folder.file(index, "json"), &object)
}

/// The checksum of a frame's JSON object, without the checksum itself.
fn checksum(object: &Value) -> u32 {
    Sum::of(object.to_string().as_bytes()).crc32
}

/// The state of a frame of this specification with a file of each of these extensions. All bytes of its files are checked.
///
/// # Errors
/// A file cannot be read.
pub(super) fn state<S: DeserializeOwned>(
    index: u32,
    specification: &Value,
    extensions: &[&str],
    folder: &Folder,
) -> Result<FrameState<S>, IoError> {
    let name = |extension| folder.file(index, extension);
    let path = name("json");
    let damaged =
        |path: &Path, what: &str| Ok(FrameState::Damaged(format!("{}: {what}", path.display())));
    let text = match read::text(&path, Limit::RECORD) {
        Ok(text) => text,
        Err(IoError::NotFound { .. }) => return Ok(FrameState::Unfinished),
        Err(IoError::Malformed { .. }) => return damaged(&path, "it is incomplete"),
        Err(error) => return Err(error),
    };
    let object: Option<Value> = serde_json::from_str(&text).ok();
    let Some(Value::Object(mut object)) = object else {
        return damaged(&path, "it is incomplete");
    };
    let written = object.remove("crc32");
    let object = Value::Object(object);
    if written.is_none() {
        return damaged(
            &path,
            "it has no checksums of its files, because an older version wrote it",
        );
    }
    if written != Some(checksum(&object).into()) {
        return damaged(&path, "its bytes have changed");
    }
    if object["specification"] != *specification {
        return damaged(&path, "it belongs to another map");
    }
    for extension in extensions {
        let path = name(extension);
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let Ok(sum) = serde_json::from_value::<Sum>(object["files"][&*file].clone()) else {
            return damaged(&path, "there is no record of it");
        };
        if let Some(what) = sum.difference(&path)? {
            return damaged(&path, &what);
        }
    }
    match serde_json::from_value(object["summary"].clone()) {
        Ok(summary) => Ok(FrameState::Finished(summary)),
        Err(e) => damaged(&path, &e.to_string()),
    }
}
