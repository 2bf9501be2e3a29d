//! The engine that a user asks for.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The engine to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// GPUs if any can be used, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// GPUs, or an error.
    Gpu,
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::Gpu),
            _ => Err("must be auto, cpu or gpu".into()),
        }
    }
}
