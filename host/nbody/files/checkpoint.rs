//! Checkpoints: an npz with everything that a run needs to go on to the same bits.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::{Bodies, Specification};
use super::FileError;
use crate::io::IoError;
use crate::io::npz::{NpzReader, NpzWriter};

/// A run at some step.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// What is computed.
    pub specification: Specification,
    /// Steps taken.
    pub step: u64,
    /// Energy at the start of the run, which errors are relative to; not known if it was not asked for.
    pub start_energy: Option<f64>,
    /// The bodies after these steps.
    pub bodies: Bodies,
}

/// All but the bodies. Numbers in JSON have the digits that give the same bits back.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    specification: Specification,
    step: u64,
    start_energy: Option<f64>,
}

const HEAD: &str = "checkpoint.json";

impl Checkpoint {
    /// Writes it; an older file of that name stays until this one is complete.
    ///
    /// # Errors
    /// [`IoError`].
    pub fn write(&self, path: &Path) -> Result<(), IoError> {
        let head = Head {
            specification: self.specification.clone(),
            step: self.step,
            start_energy: self.start_energy,
        };
        let json = serde_json::to_string(&head).expect("plain numbers and names");
        let mut file = NpzWriter::create(path)?;
        let n = self.bodies.len();
        file.array("mass", &[n], &self.bodies.mass)?;
        file.array("position", &[n, 3], self.bodies.position.as_flattened())?;
        file.array("velocity", &[n, 3], self.bodies.velocity.as_flattened())?;
        file.text(HEAD, &json)?;
        file.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let json = NpzReader::open(path)?.text(HEAD)?;
        let head: Head = serde_json::from_str(&json).map_err(|e| FileError::Contents {
            path: path.to_owned(),
            reason: format!("{HEAD} is not that of an N-body run: {e}"),
        })?;
        // Its name may be any.
        let (bodies, _) = super::read::npz(path)?;
        let Head {
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
        Ok(Self {
            specification,
            step,
            start_energy,
            bodies,
        })
    }
}
