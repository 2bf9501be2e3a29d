//! Planetary systems: a star and planets that a Wisdom-Holman integrator follows, with a tangent vector for indicators of chaos.
//!
//! - [`adaptive`]: steps of their own length for each system
//! - [`kepler`]: the drift along a Kepler orbit of any energy, and its tangent map
//! - [`observe`]: what is observed of systems on their way
//! - [`physics`]: forces beside the gravity of points, and the integrator
//! - [`system`]: the state of a system, its steps, and what ends it
//! - [`start`]: start states from orbital elements
//! - [`run`]: systems in progress side by side in the lanes of a CPU; GPUs use [`kernels`](crate::kernels)
//!
//! G = 1, lengths are astronomical units and masses solar masses, so that a year is 2π units of time. All computations are `f64` IEEE
//! operations in a fixed order: lanes, GPUs and the emulator give the same bits.

#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "comparisons are written so that NaN takes the branch of insufficient numbers"
)]

pub mod adaptive;
pub mod kepler;
pub mod observe;
pub mod physics;
pub mod run;
pub mod start;
pub mod system;

pub use observe::{Notes, Observation};
pub use physics::Physics;
pub use run::Followed;
pub use start::{ELEMENTS, Limits, Plan, PlanetForm, Start};
pub use system::{Outcome, Record, System};

/// The largest number of planets.
pub const MAX_PLANETS: usize = 15;

/// How systems are followed.
pub trait Follow: 'static {
    /// Whether they have a tangent vector.
    const TANGENT: bool;
    /// Whether their [`Physics`] is used. Otherwise they have the gravity of points alone, and steps begin with a kick.
    const GENERAL: bool;
    /// Whether they have an [`integrator`](Physics::integrator) other than that of Wisdom & Holman.
    const ADAPTIVE: bool = false;
    /// Whether something is [observed](observe) of them after every step.
    const OBSERVES: bool = false;
}

/// Systems without a tangent vector.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

/// Systems with a tangent vector.
#[derive(Clone, Copy, Debug)]
pub struct WithTangent;

/// Systems with any [`Physics`].
#[derive(Clone, Copy, Debug)]
pub struct General<F>(core::marker::PhantomData<F>);

/// Systems with any [`Physics`] and any integrator.
#[derive(Clone, Copy, Debug)]
pub struct Adaptive<F>(core::marker::PhantomData<F>);

/// Systems of which something is [observed](observe) after every step.
#[derive(Clone, Copy, Debug)]
pub struct Observed<F>(core::marker::PhantomData<F>);

impl Follow for Alone {
    const TANGENT: bool = false;
    const GENERAL: bool = false;
}

impl Follow for WithTangent {
    const TANGENT: bool = true;
    const GENERAL: bool = false;
}

impl<F: Follow> Follow for General<F> {
    const TANGENT: bool = F::TANGENT;
    const GENERAL: bool = true;
    const OBSERVES: bool = F::OBSERVES;
}

impl<F: Follow> Follow for Adaptive<F> {
    const TANGENT: bool = F::TANGENT;
    const GENERAL: bool = true;
    const ADAPTIVE: bool = true;
    const OBSERVES: bool = F::OBSERVES;
}

impl<F: Follow> Follow for Observed<F> {
    const TANGENT: bool = F::TANGENT;
    const GENERAL: bool = F::GENERAL;
    const OBSERVES: bool = true;
}
