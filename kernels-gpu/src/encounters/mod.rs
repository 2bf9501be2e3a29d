//! Complete three-body encounters: from a start to an escape, a collision, or a limit, by a regularised integrator.
//!
//! - [`random`]: numbers that depend on seed, run and dimension alone
//! - [`start`]: start states, of parameters that are fixed, drawn or an axis of a map, and of given points
//! - [`masses`]: constants that follow from the masses of three bodies
//! - [`step`]: the regularised step
//! - [`orbit`]: Kepler orbits
//! - [`hierarchy`]: the most bound pair and the third body
//! - [`excursion`]: the third body far away: its escape, or an analytic jump to its return
//! - [`run`]: one encounter, from its start to its record
//! - [`lanes`]: encounters under way side by side on a CPU; GPUs have [`device::encounters`](crate::device::encounters)
//!
//! Inside, the unit of mass is the total mass, G = 1, and the unit of length is the power of two next to the size of the system at its
//! start, so that the numbers of the integrator stay near 1 whatever the user's units are. Everything is `f64` in IEEE operations of a
//! fixed order: lanes, GPUs and the emulator give the same bits.

#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "NaN is to go the way of numbers that are not good enough"
)]

pub mod excursion;
pub mod hierarchy;
pub mod lanes;
pub mod masses;
pub mod orbit;
pub mod random;
pub mod run;
pub mod start;
pub mod step;

pub use masses::Masses;
pub use run::{Encounter, Outcome, Record, Settings, Verdict};
pub use start::{BodiesStart, Law, Plan, Setup, Start};
pub use step::{Pairs, Scheme, Watch};

/// Bodies of each pair, and the third body: the pairs in the order in which everything here counts them.
pub const PAIRS: [[usize; 3]; 3] = [[0, 1, 2], [1, 2, 0], [0, 2, 1]];

/// Vectors of three numbers. (Plain arrays: the integrator's vectors are scaled, and no [`Vec3`](crate::Vec3) of a place in space.)
pub mod vector {
    use crate::number::Bits;

    /// a · b.
    #[inline(always)]
    pub fn dot<R: Bits>(a: &[R; 3], b: &[R; 3]) -> R {
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
