//! The parts of a run that independent processes have computed, and the whole that is made of them.

use std::io::{BufReader, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::io::IoError;
use crate::io::read::{self, Limit};
use crate::lock;
use crate::part::Part;
use crate::partial::{
    self, Contents, Description, Layout, PartialError, PartialFile, working_files,
};
use crate::record::{Record, RecordError};

/// Bytes that are copied at a time, at least one item.
const COPIED_BYTES: usize = 1 << 22;

/// The reason why parts cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// A part cannot be used.
    #[error("{}: {reason}", .path.display())]
    Refused {
        /// One of its files, or its folder.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Parts are not there, or not finished.
    #[error("{0}")]
    Missing(String),
    /// The record of a part cannot be used.
    #[error(transparent)]
    Run(#[from] RecordError),
    /// The file of the whole run cannot be used.
    #[error(transparent)]
    Whole(#[from] PartialError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl PartsError {
    /// A part that cannot be used.
    pub fn refused(path: &Path, reason: impl Into<String>) -> Self {
        Self::Refused {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

/// The command that wrote the file of a part; `None` if the file is another one.
///
/// # Errors
/// The record of the part cannot be read.
pub fn command_of(path: &Path) -> Result<Option<String>, IoError> {
    let [_, record] = working_files(&partial::name_of(path));
    let text = match read::text(&record, Limit::RECORD) {
        Err(IoError::NotFound { .. }) => return Ok(None),
        text => text?,
    };
    let record: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(record["run"]["command"].as_str().map(str::to_owned))
}

/// Checks that parts, each with its place, are all of a run: of the same number of parts, none twice, none missing. Those for which
/// `finished` is false count as missing.
///
/// # Errors
/// [`PartsError`], which names the missing parts.
pub fn check_whole<'a>(
    parts: impl Iterator<Item = (Part, &'a Path, bool)> + Clone,
) -> Result<(), PartsError> {
    let Some((first, at, _)) = parts.clone().next() else {
        return Err(PartsError::Missing("there are no parts".into()));
    };
    let mut all = parts.clone().collect::<Vec<_>>();
    if let Some((other, path, _)) = all.iter().find(|(part, ..)| part.of() != first.of()) {
        let reason = format!(
            "it is part {other}, but {} is part {first}; their items overlap",
            at.display()
        );
        return Err(PartsError::refused(path, reason));
    }
    all.sort_by_key(|(part, ..)| *part);
    if let Some([(_, one, _), (part, other, _)]) = all
        .windows(2)
        .map(|pair| [pair[0], pair[1]])
        .find(|[one, other]| one.0 == other.0)
    {
        let reason = format!("it is part {part}, and so is {}", one.display());
        return Err(PartsError::refused(other, reason));
    }
    let is = |part: &Part, state: Option<bool>| {
        let found = all.binary_search_by_key(part, |(part, ..)| *part);
        found.ok().map(|at| all[at].2) == state
    };
    let listed = |state, what| {
        let parts: Vec<Part> = Part::all(first.of()).filter(|p| is(p, state)).collect();
        (!parts.is_empty()).then(|| format!("{what}: {}", in_words(&parts)))
    };
    let missing = listed(None, "parts that are missing");
    let begun = listed(Some(false), "parts that are not finished");
    let both: Vec<String> = missing.into_iter().chain(begun).collect();
    if both.is_empty() {
        return Ok(());
    }
    Err(PartsError::Missing(format!(
        "{}; start them again with their --part",
        both.join("; ")
    )))
}

/// Parts of the same run, in their order, for a message.
fn in_words(parts: &[Part]) -> String {
    /// Most parts that a message lists.
    const MOST: usize = 24;
    let mut words: Vec<String> = parts.iter().take(MOST).map(Part::to_string).collect();
    if parts.len() > MOST {
        words.push(format!("and {} more", parts.len() - MOST));
    }
    words.join(", ")
}

/// All parts of a run, finished and undamaged.
#[derive(Debug)]
pub struct Parts<C> {
    /// The specification of the items.
    pub contents: C,
    /// The other options of the run. Paths are found from the folder of the first part that was given.
    pub run: Record,
    /// The names of the parts, which [`working_files`] takes.
    names: Vec<(Part, PathBuf)>,
}

impl<C: Contents> Parts<C> {
    /// Reads the parts to which these files belong, and checks that they are all parts of one run, without damage.
    ///
    /// # Errors
    /// [`PartsError`].
    pub fn read(files: &[PathBuf]) -> Result<Self, PartsError> {
        let mut found: Vec<(PathBuf, Description<C>)> = Vec::new();
        for file in files {
            let name = partial::name_of(file);
            // `map.npy.1-of-2.part*` also matches the record.
            if !found.iter().any(|(there, _)| *there == name) {
                let [_, record] = working_files(&name);
                let description = Description::read(&record)?;
                let description = description.ok_or_else(|| no_part(file))?;
                found.push((name, description));
            }
        }
        let mut parts = Vec::new();
        for (name, description) in &found {
            let part = description.part.ok_or_else(|| {
                let reason = format!("it is no part of a {}, but an unfinished one", C::NAME);
                PartsError::refused(name, reason)
            })?;
            parts.push((part, name.clone(), description.sum.is_some()));
        }
        let numbered = parts
            .iter()
            .map(|(part, name, whole)| (*part, name.as_path(), *whole));
        check_whole(numbered)?;

        let mut runs = Vec::new();
        for (name, description) in &found {
            let [part, record] = working_files(name);
            let run = description.run.clone();
            let run = run.ok_or(RecordError::None {
                path: record.clone(),
            })?;
            runs.push(run.placed(&record, C::COMMAND)?);
            let (there, difference) = (&found[0], |what: String| {
                let first = working_files(&found[0].0)[0].display().to_string();
                let reason = format!(
                    "it belongs to another {} than {first}: {what} differs",
                    C::NAME
                );
                PartsError::refused(&part, reason)
            });
            if let Some(what) = description.contents.difference(&there.1.contents) {
                return Err(difference(what));
            }
            if let Some(what) = runs[runs.len() - 1].difference(&runs[0]) {
                return Err(difference(what));
            }
            if let Some(sum) = description.sum
                && let Some(what) = sum.difference(&part)?
            {
                let reason = format!(
                    "{what}; remove it and {}, and compute the part again",
                    record.display()
                );
                return Err(PartsError::refused(&part, reason));
            }
        }
        let (_, first) = found.swap_remove(0);
        Ok(Self {
            contents: first.contents,
            run: runs.swap_remove(0),
            names: (parts.into_iter())
                .map(|(part, name, _)| (part, name))
                .collect(),
        })
    }

    /// The unfinished file of the whole run for the output `path`, with the items of all parts. `contents` are what the items are now, which
    /// must not have changed since the parts were computed.
    ///
    /// # Errors
    /// [`PartsError`]; before a file is begun unless a file cannot be read or written.
    pub fn merged(
        &self,
        path: &Path,
        contents: &C,
        layout: Layout,
        run: Option<Record>,
    ) -> Result<PartialFile<C>, PartsError> {
        let files: Vec<(Part, PathBuf)> = (self.names.iter())
            .map(|(part, name)| {
                let [file, _] = working_files(name);
                (*part, file)
            })
            .collect();
        if let Some(what) = contents.difference(&self.contents) {
            let reason = format!("{what} differs from that of the parts");
            return Err(PartsError::refused(&files[0].1, reason));
        }
        for (part, file) in &files {
            let items = part.span(layout.count);
            let wanted = layout.item as u64 * (items.end - items.start);
            let failed = |e| IoError::system(file, "read", e);
            let there = file.metadata().map_err(failed)?.len();
            if there != wanted {
                let reason = format!("it has {there} bytes instead of {wanted}");
                return Err(PartsError::refused(file, reason));
            }
        }
        let whole = PartialFile::begin_or_resume(path, contents, layout.clone(), run)?;
        for (part, file) in &files {
            copy(file, part.span(layout.count), layout.item, &whole)?;
        }
        whole.write_record()?;
        Ok(whole)
    }
}

/// Copies the items of a part, each of `item` bytes, to the file of the whole run.
fn copy<C: Contents>(
    path: &Path,
    items: Range<u64>,
    item: usize,
    whole: &PartialFile<C>,
) -> Result<(), PartsError> {
    let failed = |e| IoError::system(path, "read", e);
    let file = read::open(path)?;
    if lock::hold(&file).is_err() {
        return Err(PartsError::refused(path, "another run is writing it"));
    }
    let at_once = (COPIED_BYTES / item).max(1) as u64;
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    let mut next = items.start;
    while next < items.end {
        let count = at_once.min(items.end - next);
        bytes.resize(count as usize * item, 0);
        reader.read_exact(&mut bytes).map_err(failed)?;
        whole
            .put_bytes(next, &bytes)
            .map_err(|error| PartsError::refused(whole.part(), error.to_string()))?;
        next += count;
    }
    Ok(())
}

fn no_part(path: &Path) -> PartsError {
    let reason = if path.exists() {
        "it is no part: there is no record of a run with --part beside it"
    } else {
        "there is no such part"
    };
    PartsError::refused(path, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(parts: &[(&str, bool)]) -> Option<String> {
        let names: Vec<String> = (0..parts.len()).map(|n| format!("p{n}")).collect();
        let parsed = parts.iter().zip(&names).map(|((part, finished), name)| {
            (part.parse().expect("a part"), Path::new(name), *finished)
        });
        check_whole(parsed).err().map(|e| e.to_string())
    }

    #[test]
    fn parts_that_are_missing_or_overlap_are_named() {
        assert_eq!(check(&[("2/2", true), ("1/2", true)]), None);
        let said = check(&[("4/5", true), ("1/5", false)]).expect("not whole");
        assert!(said.contains("missing: 2/5, 3/5, 5/5"), "{said}");
        assert!(said.contains("not finished: 1/5"), "{said}");
        let said = check(&[("1/2", true), ("2/2", true), ("1/2", true)]).expect("twice");
        assert_eq!(said, "p2: it is part 1/2, and so is p0");
        let said = check(&[("1/2", true), ("2/3", true)]).expect("overlap");
        assert!(
            said.contains("p1: it is part 2/3, but p0 is part 1/2"),
            "{said}"
        );
        assert!(check(&[]).is_some());
        assert!(
            check(&[("1/100", true)])
                .expect("missing")
                .ends_with("and 75 more; start them again with their --part")
        );
    }
}
