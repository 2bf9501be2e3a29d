//! Complete three-body encounters: a regularised integrator follows them from a start to an escape, a collision or a limit.
//!
//! - [`random`]: numbers that depend only on seed, run and dimension
//! - [`start`]: start states, from parameters that are fixed, drawn or an axis of a map, or from given bodies
//! - [`masses`]: constants that follow from the masses of three bodies
//! - [`step`]: the regularised step
//! - [`orbit`]: Kepler orbits
//! - [`hierarchy`]: the most bound pair and the third body
//! - [`excursion`]: the third body far away: its escape, or an analytic jump to its return
//! - [`plunge`]: two bodies on an almost radial orbit, through their pericentre
//! - [`run`]: one encounter, from its start to its record
//! - [`lanes`]: encounters in progress side by side on a CPU; GPUs use [`device::encounters`](crate::device::encounters)
//!
//! Internally the unit of mass is the total mass, G = 1, and the unit of length is the power of two next to the size of the system at
//! its start, so that the integrator's numbers stay near 1 in any units of the user. All computations are `f64` IEEE operations in a
//! fixed order: lanes, GPUs and the emulator give the same bits.

#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "comparisons are written so that NaN takes the branch of insufficient numbers"
)]

pub mod excursion;
pub mod hierarchy;
pub mod lanes;
pub mod masses;
pub mod orbit;
pub mod plunge;
pub mod run;
pub mod start;
pub mod step;

pub use masses::Masses;
pub use run::{Encounter, Outcome, Record, Settings, Verdict};
pub use start::{BodiesStart, Plan, Setup, Start};
pub use step::{Pairs, Scheme, Watch};
pub use trisolar_equations::{Law, random};

/// The bodies of each pair, and the third body. All arrays over pairs use this order.
pub const PAIRS: [[usize; 3]; 3] = [[0, 1, 2], [1, 2, 0], [0, 2, 1]];

/// Vectors of three numbers. (They are plain arrays because the integrator's vectors are scaled, unlike a [`Vec3`](crate::Vec3), which
/// is a vector in space.)
pub mod vector {
    use crate::Real;

    /// a · b.
    #[inline(always)]
    pub fn dot<R: Real>(a: &[R; 3], b: &[R; 3]) -> R {
        a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
    }

    /// a × b.
    #[inline(always)]
    pub fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    }

    /// k x.
    #[inline(always)]
    pub fn scale(k: f64, x: &[f64; 3]) -> [f64; 3] {
        [k * x[0], k * x[1], k * x[2]]
    }

    /// k x + y.
    #[inline(always)]
    pub fn axpy(k: f64, x: &[f64; 3], y: &[f64; 3]) -> [f64; 3] {
        [y[0] + k * x[0], y[1] + k * x[1], y[2] + k * x[2]]
    }
}
