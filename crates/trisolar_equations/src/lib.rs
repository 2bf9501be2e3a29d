//! Differential equations and iterated maps of a user's own, written once for the lanes of CPUs and for GPUs.
//!
//! A system is a [`System`], which has names and defaults, and a [`Flow`], a [`Hamiltonian`] or an [`IteratedMap`]. Its functions are generic over
//! the [`Scalar`], so that tangent vectors ([`Dual`]), the lanes of a CPU ([`Lanes`]) and the threads of a GPU all follow from them.
//! [`export!`] makes its kernels. All computations are IEEE operations in a fixed order: the results have the same bits everywhere.
//!
//! Each module uses only those listed before it:
//!
//! - [`scalar`]: the trait [`Scalar`], and `f64`; [`lanes`] and [`dual`] implement it, too
//! - [`system`]: what users implement, and [`Dynamics`], which is the same interface for all kinds of systems
//! - [`evolution`]: a state in motion, alone or with a tangent vector
//! - the integrators of [`scheme`]
//! - [`random`] and [`law`]: start values that are fixed, drawn or an axis of a map
//! - [`job`]: a specification as plain data
//! - [`follow`](mod@follow): items from their start to their end
//! - [`export`](mod@export): the kernels of a system
#![cfg_attr(target_arch = "nvptx64", no_std)]

pub mod dual;
pub mod evolution;
pub mod export;
pub mod follow;
pub mod job;
pub mod lanes;
pub mod law;
pub mod random;
pub mod scalar;
pub mod scheme;
pub mod system;

pub use dual::Dual;
pub use evolution::{Alone, Evolution, WithTangent};
pub use export::{DeviceJob, Exported, Kind};
pub use follow::follow;
pub use job::{Column, Job, Method};
pub use lanes::Lanes;
pub use law::Law;
pub use scalar::{Mask, Scalar};
pub use system::{Dynamics, Flow, Hamiltonian, IteratedMap, Named, Outcomes, System};
