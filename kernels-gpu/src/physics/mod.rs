//! Gravity: vectors, a pair of bodies, three bodies relative to the first, Hermite integration, and the orders of summation.
//!
//! - [`vec3`]: vectors of [`Real`](crate::Real) components
//! - [`pair`]: separation, pull and potential of two bodies
//! - [`softening`]: the softening length in sums over all pairs
//! - [`three_body`]: three bodies in relative coordinates, for maps
//! - [`hermite`]: accelerations with time derivatives, predictor, corrector and steps of star clusters
//! - [`summation`]: the orders of summation, which determine the bits of a result

pub mod hermite;
pub mod pair;
pub mod softening;
pub mod summation;
pub mod three_body;
pub mod vec3;
