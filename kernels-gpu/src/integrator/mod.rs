//! Integrators: one file and one row of [`integrators`](crate::integrators) each, used by maps and by N-body runs.
//!
//! An integrator is written once, as a sequence of operations on a [`System`] ([`SystemIntegrator`]). N-body's arrays are systems, and
//! so are the three bodies of a map, which lie in registers ([`General`]): a new integrator is there for both. Where a map has a faster
//! form of the same method, that form is in the integrator's file too, as its [`MapIntegrator`], and a test compares the two.
//!
//! | name | order | evaluations a step | on maps |
//! |---|---|---|---|
//! | `explicit-euler` | 1 | 1 | kicks without intermediate accelerations |
//! | `symplectic-euler` | 1 | 1 | kicks without intermediate accelerations |
//! | `leapfrog` | 2 | 1 | staggered |
//! | `velocity-verlet` | 2 | 1 | general form |
//! | `forest-ruth` | 4 | 3 | general form |
//! | `adams-bashforth-2` | 2 | 1 | with a choice of first steps |
//! | `adams-bashforth-4` | 4 | 1 | with a choice of first steps |
//! | `runge-kutta-4` | 4 | 4 | Nyström's form |
//! | `hermite-4` | 4 | 1, with jerks | the only form |

use core::fmt::Debug;

use crate::map::{FirstSteps, Masses, Start};
use crate::number::Numbers;
use crate::physics::three_body::Relative;
use crate::{PerLane, Real};

mod adams_bashforth_2;
mod adams_bashforth_4;
mod explicit_euler;
pub mod fixed_steps;
mod forest_ruth;
mod general;
mod hermite_4;
mod leapfrog;
mod runge_kutta_4;
mod symplectic_euler;
pub mod system;
mod velocity_verlet;

pub use adams_bashforth_2::AdamsBashforth2;
pub use adams_bashforth_4::AdamsBashforth4;
pub use explicit_euler::ExplicitEuler;
pub use forest_ruth::ForestRuth;
pub use general::General;
pub use hermite_4::Hermite4;
pub use leapfrog::Leapfrog;
pub use runge_kutta_4::RungeKutta4;
pub use symplectic_euler::SymplecticEuler;
pub use system::System;
pub use velocity_verlet::VelocityVerlet;

/// The table of integrators. Calls `$callback` (the path of a macro, in braces) with the context and a row for each integrator: its type, its name in those of kernels,
/// and for which numbers of bodies there is a form of it, `any` or `three`.
#[macro_export]
macro_rules! integrators {
    ($callback:tt $context:tt) => {
        $crate::call! { $callback $context
            ExplicitEuler explicit_euler any,
            SymplecticEuler symplectic_euler any,
            Leapfrog leapfrog any,
            VelocityVerlet velocity_verlet any,
            ForestRuth forest_ruth any,
            AdamsBashforth2 adams_bashforth_2 any,
            AdamsBashforth4 adams_bashforth_4 any,
            RungeKutta4 runge_kutta_4 any,
            // N-body's kernels compute no jerks. Clusters have Hermite's method, with block time steps.
            Hermite4 hermite_4 three,
        }
    };
}

/// An integrator of the [table](crate::integrators).
pub trait Integrator: Copy + Debug + Send + Sync + 'static {
    /// Its name on the command line and in files.
    const NAME: &'static str;
    /// Names by which it is read as well.
    const FORMER_NAMES: &'static [&'static str] = &[];
    /// What a user should know to choose it, for the help.
    const HELP: &'static str;
    /// The power of the time step by which the error after a fixed time shrinks.
    const ORDER: u32;
    /// How often the accelerations of all bodies are computed in a step.
    const EVALUATIONS: u32;
    /// Whether its first steps need a method of their own.
    const IS_MULTISTEP: bool = false;

    /// How a map takes its steps: [`General`] if there is no faster form.
    type OnMaps: MapIntegrator;
}

/// An integrator of any number of bodies, as a sequence of operations on all of them.
pub trait SystemIntegrator: Integrator {
    /// Pairs of vectors that it saves.
    const SAVED: usize = 0;
    /// A run's first steps that [`start`](Self::start) takes instead of [`step`](Self::step).
    const STARTS: u32 = 0;

    /// Before the first step.
    ///
    /// # Errors
    /// What the system says.
    #[inline(always)]
    fn prepare<S: System>(s: &mut S) -> Result<(), S::Error> {
        let _ = s;
        Ok(())
    }

    /// One of the first [`STARTS`](Self::STARTS) steps, of length `dt`.
    ///
    /// # Errors
    /// What the system says.
    #[inline(always)]
    fn start<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        Self::step(s, dt)
    }

    /// One step of length `dt`.
    ///
    /// # Errors
    /// What the system says.
    fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error>;
}

/// An integrator as a map takes its steps. It owns its state: most take steps of a fixed length, and keep velocities as lengths a step
/// ([`fixed_steps`]), but nothing outside of it knows.
pub trait MapIntegrator: Copy + Debug + Send + Sync + 'static {
    /// How it keeps masses.
    type Masses<R: Real>: PerLane<One = Self::Masses<R::Lane>> + Debug;

    /// Three bodies under way.
    type State<R: Real>: PerLane<One = Self::State<R::Lane>> + Numbers<R> + Debug;

    /// A pixel's first steps that [`start`](Self::start) takes instead of [`step`](Self::step).
    const STARTS: u32 = 0;

    /// The nearest masses in its numbers, in every lane.
    fn masses<R: Real>(masses: &Masses) -> Self::Masses<R>;

    /// Three bodies before their first step.
    fn begin<R: Real>(start: &Start<R>, masses: &Self::Masses<R>) -> Self::State<R>;

    /// One of the first [`STARTS`](Self::STARTS) steps.
    #[inline(always)]
    fn start<R: Real>(s: &mut Self::State<R>, first: FirstSteps, masses: &Self::Masses<R>) {
        let _ = first;
        Self::step([s], masses);
    }

    /// One step of `N` systems (1 or 2), which test for close encounters together and interleave their operations.
    fn step<R: Real, const N: usize>(s: [&mut Self::State<R>; N], masses: &Self::Masses<R>);

    /// The positions (length).
    fn positions<R: Real>(s: &Self::State<R>) -> Relative<R>;

    /// The velocities (length / time) at the positions' time; `rate` is the number of steps in a unit of time.
    fn velocities<R: Real>(
        s: &Self::State<R>,
        rate: R::Constant,
        masses: &Self::Masses<R>,
    ) -> Relative<R>;
}
