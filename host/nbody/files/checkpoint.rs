//! Checkpoints: an npz with everything that a run needs to continue with the same bits.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::{Bodies, Energies, LowerParts, Specification};
use super::FileError;
use super::write::History;
use trisolar_bodies::{Tracks, numbers};
use trisolar_io::IoError;
use trisolar_io::atomic::directory_of;
use trisolar_io::npz::{NpzReader, NpzWriter, SPECIFICATION};
use trisolar_run::Record;

/// A run at some step.
#[derive(Debug, PartialEq)]
pub struct Checkpoint {
    /// The specification of the run.
    pub specification: Specification,
    /// Steps taken.
    pub step: u64,
    /// Energies at the start of the run, to which errors are relative; `None` if they were not evaluated.
    pub start_energy: Option<Energies>,
    /// The bodies after these steps.
    pub bodies: Bodies,
    /// The records until then, so that a resumed run writes the files of an uninterrupted one.
    pub history: History,
}

/// All contents except the bodies. Numbers in JSON have the digits that restore the same bits.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointHead {
    specification: Specification,
    step: u64,
    start_energy: Option<Energies>,
}

const HEADER_FILE: &str = "checkpoint.json";
/// Names of the arrays of [`LowerParts`].
const LOWER: [&str; 2] = ["lower_position", "lower_velocity"];

impl Checkpoint {
    /// Writes the checkpoint. An older file of that name remains until this one is complete.
    ///
    /// # Errors
    /// [`IoError`].
    pub fn write(&self, path: &Path) -> Result<(), IoError> {
        self.write_with(path, None, None)
    }

    /// As [`write`](Self::write), with the lower parts of coordinates and the options and written files of the run, so that `--resume` can
    /// continue with all of them.
    ///
    /// # Errors
    /// [`IoError`].
    pub fn write_with(
        &self,
        path: &Path,
        lower: Option<&LowerParts>,
        run: Option<&Record>,
    ) -> Result<(), IoError> {
        let head = CheckpointHead {
            specification: self.specification.clone(),
            step: self.step,
            start_energy: self.start_energy,
        };
        let json = serde_json::to_string(&head).expect("plain numbers and names");
        let mut file = NpzWriter::create(path)?;
        let n = self.bodies.len();
        file.array("mass", &[n], &self.bodies.mass)?;
        file.array("position", &[n, 3], numbers(&self.bodies.position))?;
        file.array("velocity", &[n, 3], numbers(&self.bodies.velocity))?;
        if let Some(lower) = lower {
            for (name, values) in LOWER.iter().zip([&lower.position, &lower.velocity]) {
                file.array(name, &[n, 3], values.as_flattened())?;
            }
        }
        let history = &self.history;
        history.write_moments("history", &mut file)?;
        history.write_positions(n, &mut file)?;
        history.tracks.write(&mut file)?;
        file.text(HEADER_FILE, &json)?;
        let json = serde_json::to_string(&self.specification).expect("plain numbers and names");
        file.text(SPECIFICATION, &json)?;
        if let Some(run) = run {
            run.write(&mut file)?;
        }
        file.finish()
    }

    /// The lower parts of coordinates in a checkpoint, if it has any.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn read_lower_parts(path: &Path) -> Result<Option<LowerParts>, FileError> {
        let mut file = NpzReader::open(path)?;
        if !file.names()?.iter().any(|name| name == LOWER[0]) {
            return Ok(None);
        }
        let n = file.array::<f64>("mass")?.values.len();
        let mut vectors = |name: &str| -> Result<Vec<[f32; 3]>, FileError> {
            let array = file.array::<f32>(name)?;
            if array.shape != [n, 3] {
                return Err(FileError::Contents {
                    path: path.to_owned(),
                    reason: format!("{name} must be {n} x 3, it is {:?}", array.shape),
                });
            }
            Ok(array.values.as_chunks::<3>().0.to_vec())
        };
        Ok(Some(LowerParts {
            position: vectors(LOWER[0])?,
            velocity: vectors(LOWER[1])?,
        }))
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let mut file = NpzReader::open(path)?;
        let json = file.text(HEADER_FILE)?;
        let head: CheckpointHead =
            serde_json::from_str(&json).map_err(|e| FileError::Contents {
                path: path.to_owned(),
                reason: format!("{HEADER_FILE} is not that of an N-body run: {e}"),
            })?;
        // The file may have any name.
        let bodies = trisolar_bodies::files::npz(path)?.bodies;
        let CheckpointHead {
            specification,
            step,
            start_energy,
        } = head;
        if step > specification.steps {
            return Err(FileError::Contents {
                path: path.to_owned(),
                reason: format!(
                    "step {step} is beyond the run's {} steps",
                    specification.steps
                ),
            });
        }
        let history = history(path, &mut file, bodies.len())?;
        Ok(Self {
            specification,
            step,
            start_energy,
            bodies,
            history,
        })
    }
}

fn history(path: &Path, file: &mut NpzReader, n: usize) -> Result<History, FileError> {
    let mut history = History::in_folder(&directory_of(path));
    let fit = history.read_moments("history", file)? && history.read_positions(n, file)?;
    let contents = |reason| FileError::Contents {
        path: path.to_owned(),
        reason,
    };
    if !fit {
        return Err(contents(
            "the arrays of its history do not belong together; another version of the program may have written them, which can resume the run".into(),
        ));
    }
    if let Some(tracks) = Tracks::read(file)? {
        history.tracks = tracks.map_err(contents)?;
    }
    Ok(history)
}
