//! The engine that a user asks for.

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

trisolar_io::names!(Backend {
    Auto = "auto",
    Cpu = "cpu",
    Gpu = "gpu",
});
