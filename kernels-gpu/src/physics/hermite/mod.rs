//! Hermite integration of order 4, 6 and 8: forces with time derivatives ([`force`]), prediction ([`predict`]), correction
//! ([`correct`]) and time-step criteria ([`step`]). [`arithmetic`] defines the precision of pairs, and [`ahmad_cohen`] separates the
//! forces of neighbours from the rest.
//!
//! A scheme of order p evaluates D = p/2 vectors for each particle: the acceleration and its first D - 1 time derivatives (jerk at
//! order 4; also snap at order 6; also crackle at order 8). They follow from the position and the same number of its derivatives. The
//! formulas are from Nitadori & Makino 2008 (New Astronomy 13, 498) and Makino & Aarseth 1992.

pub mod ahmad_cohen;
pub mod arithmetic;
pub mod correct;
pub mod force;
pub mod predict;
pub mod step;

use super::vec3::Vec3;

/// Number of vectors of a [`Taylor`] polynomial.
pub const TERMS: usize = 10;

/// A particle's position and its derivatives at one time, without factorials: position, velocity, acceleration,
/// jerk, snap, crackle and the fourth to seventh derivative of the acceleration. Order p uses the first p + 2.
pub type Taylor<R> = [Vec3<R>; TERMS];
