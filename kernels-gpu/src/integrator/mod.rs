//! Integrators for maps and N-body runs, each of which has one file and one row of [`integrators`](crate::integrators).
//!
//! An integrator is written once, as a sequence of operations on a [`System`] ([`SystemIntegrator`]). The arrays of N-body runs are
//! systems, and so are the three bodies of a map, which are in registers ([`General`]); a new integrator therefore works for both.
//! Where maps have a faster form of the same method, it is in the integrator's file too, as its [`MapIntegrator`], and a test compares
//! the two forms.
//!
//! | name | order | evaluations per step | on maps |
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
//! | `regularised-2`, `-6`, `-8` | 2, 6, 8 | 1, 9, 17 | the only form, with steps of its own |

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
mod regularised;
mod runge_kutta_4;
mod symplectic_euler;
pub mod system;
mod twins;
mod velocity_verlet;

pub use adams_bashforth_2::AdamsBashforth2;
pub use adams_bashforth_4::AdamsBashforth4;
pub use explicit_euler::ExplicitEuler;
pub use forest_ruth::ForestRuth;
pub use general::General;
pub use hermite_4::Hermite4;
pub use leapfrog::Leapfrog;
pub use regularised::{Regularised, Regularised2, Regularised6, Regularised8};
pub use runge_kutta_4::RungeKutta4;
pub use symplectic_euler::SymplecticEuler;
pub use system::System;
pub use twins::{TwinContext, TwinState, Twins};
pub use velocity_verlet::VelocityVerlet;

/// The table of integrators. Calls `$callback` (the path of a macro, in braces) with the context and one row for each integrator: its
/// type, its name in kernel names, and what it integrates: `any` number of bodies, only the `three` of a map, or these by steps of its
/// `own`.
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
            // The kernels of N-body runs compute no jerks. Clusters use Hermite's method with block time steps.
            Hermite4 hermite_4 three,
            Regularised2 regularised_2 own,
            Regularised6 regularised_6 own,
            Regularised8 regularised_8 own,
        }
    };
}

/// An integrator of the [table](crate::integrators).
pub trait Integrator: Copy + Debug + Send + Sync + 'static {
    /// Its name on the command line and in files.
    const NAME: &'static str;
    /// Earlier names that are still accepted.
    const FORMER_NAMES: &'static [&'static str] = &[];
    /// What a user should know to choose it, for the help.
    const HELP: &'static str;
    /// The order: the power of the time step with which the error after a fixed time decreases.
    const ORDER: u32;
    /// Number of evaluations of all accelerations per step.
    const EVALUATIONS: u32;
    /// Whether its first steps need a different method.
    const IS_MULTISTEP: bool = false;
    /// For an integrator whose steps have lengths of their own: the usual number of steps in a period of the tightest circular binary
    /// that the energy allows.
    const STEPS_PER_PERIOD: Option<f64> = None;

    /// Its implementation on maps: [`General`] if there is no faster form.
    type OnMaps: MapIntegrator;
}

/// An integrator for any number of bodies, as a sequence of operations on all of them.
pub trait SystemIntegrator: Integrator {
    /// Number of pairs of vectors that it saves.
    const SAVED: usize = 0;
    /// Number of first steps that [`start`](Self::start) takes instead of [`step`](Self::step).
    const STARTS: u32 = 0;

    /// Prepares a system for its first step.
    ///
    /// # Errors
    /// The error of the system.
    #[inline(always)]
    fn prepare<S: System>(s: &mut S) -> Result<(), S::Error> {
        let _ = s;
        Ok(())
    }

    /// Takes one of the first [`STARTS`](Self::STARTS) steps, of length `dt`.
    ///
    /// # Errors
    /// The error of the system.
    #[inline(always)]
    fn start<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        Self::step(s, dt)
    }

    /// Takes one step of length `dt`.
    ///
    /// # Errors
    /// The error of the system.
    fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error>;
}

/// An integrator as maps use it. It owns its state: most integrators take steps of a fixed length and store velocities as length per
/// step ([`fixed_steps`]), but no other code depends on that.
pub trait MapIntegrator: Copy + Debug + Send + Sync + 'static {
    /// Its representation of the masses.
    type Masses<R: Real>: PerLane<One = Self::Masses<R::Lane>> + Debug;

    /// The state of three bodies between steps.
    type State<R: Real>: PerLane<One = Self::State<R::Lane>> + Numbers<R> + Debug;

    /// The state of a system and its twin, as divergence follows them: [`Twins`] unless steps have lengths of their own.
    type Twins<R: Real>: PerLane<One = Self::Twins<R::Lane>> + TwinState<R, Self>;

    /// Whether a step of [`Twins`](Self::Twins) has a length of its own, instead of that of the map's step.
    const TWINS_HAVE_OWN_STEPS: bool = false;

    /// Number of first steps that [`start`](Self::start) takes instead of [`step`](Self::step).
    const STARTS: u32 = 0;

    /// The masses, rounded to its numbers, in every lane.
    fn masses<R: Real>(masses: &Masses) -> Self::Masses<R>;

    /// The state of three bodies before their first step.
    fn begin<R: Real>(start: &Start<R>, masses: &Self::Masses<R>) -> Self::State<R>;

    /// Takes one of the first [`STARTS`](Self::STARTS) steps.
    #[inline(always)]
    fn start<R: Real>(s: &mut Self::State<R>, first: FirstSteps, masses: &Self::Masses<R>) {
        let _ = first;
        Self::step([s], masses);
    }

    /// Takes one step of `N` systems (1 or 2), which test for close encounters together and interleave their operations.
    fn step<R: Real, const N: usize>(s: [&mut Self::State<R>; N], masses: &Self::Masses<R>);

    /// The positions (length).
    fn positions<R: Real>(s: &Self::State<R>) -> Relative<R>;

    /// The velocities (length / time) at the positions' time; `rate` is the number of steps per unit of time.
    fn velocities<R: Real>(
        s: &Self::State<R>,
        rate: R::Constant,
        masses: &Self::Masses<R>,
    ) -> Relative<R>;
}
