//! What a map computes of each pixel: one file and one row of [`quantities`](crate::quantities) each.
//!
//! | name | value | systems | ends early |
//! |---|---|---|---|
//! | `divergence` | steps that began with the twins together | twins | when they part |
//! | `closest-approach` | least distance of any two bodies (length) | one | when a coordinate is not a number |
//! | `ftle` | finite-time Lyapunov exponent (1 / time) | one, with a tangent vector | when the vector is not a number |

use core::fmt::Debug;

use crate::integrator::MapIntegrator;
use crate::map::{Job, Masses, Point};
use crate::{PerLane, Real};

pub use divergence::Twins;

/// The table of quantities. Calls `$callback` (the path of a macro, in braces) with the context and a row for each quantity: its type, its
/// name in those of kernels, which is that of its file, and the precisions in which it is compiled, `every` or `f64`
/// ([`methods`](mod@crate::methods)).
#[macro_export]
macro_rules! quantities {
    ($callback:tt $context:tt) => {
        $crate::call! { $callback $context
            Divergence divergence every,
            ClosestApproach closest_approach f64,
            Ftle ftle f64,
        }
    };
}

macro_rules! files {
    ([] $($quantity:ident $file:ident $precisions:ident,)*) => {$(
        mod $file;
        pub use $file::$quantity;
    )*};
}
quantities!({files} []);

/// How the values of a quantity become colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithms. 0 has the colour of the least value above it.
    Logarithmic,
}

/// A quantity of a pixel.
pub trait Quantity: Copy + Debug + Send + Sync + 'static {
    /// Its name on the command line and in files.
    const NAME: &'static str;

    /// What the value is, in words, for pictures.
    const LABEL: &'static str;

    /// The dimension of the value: what its unit is made of.
    const UNIT: &'static str;

    /// How pictures show it.
    const SCALE: Scale;

    /// One line about it, for lists of quantities.
    const HELP: &'static str;

    /// Whether the value is the number of steps that a pixel took: pictures show what was left of them.
    const COUNTS_STEPS: bool = false;

    /// Whether it compares a system with its twin.
    const HAS_TWINS: bool = false;

    /// A pixel's value: plain data.
    type Value: Copy + Default + Debug + PartialEq + Send + Sync + 'static;

    /// Steps between two looks at whether pixels go on, 1 or 2. With 2, a pixel may run ahead by a step: its state must not count then.
    const STRIDE: u32;

    /// The number in which trajectories are computed.
    type Number<R: Real>: Real<Lane = Self::Number<R::Lane>>;

    /// The mass terms that it needs in addition to those of the integrators.
    type Terms<R: Real>: PerLane<One = Self::Terms<R::Lane>> + Debug;

    /// A pixel under way.
    type State<R: Real, I: MapIntegrator>: PerLane<One = Self::State<R::Lane, I>> + Debug;

    /// The nearest terms in these numbers, in every lane.
    fn terms<R: Real>(masses: &Masses) -> Self::Terms<R>;

    /// A pixel before its first step.
    fn begin<R: Real, I: MapIntegrator>(
        point: &Point,
        job: &Job,
        masses: &I::Masses<Self::Number<R>>,
    ) -> Self::State<R, I>;

    /// Whether the pixel goes on with another step.
    fn goes_on<R: Real, I: MapIntegrator>(s: &Self::State<R, I>, terms: &Self::Terms<R>)
    -> R::Mask;

    /// One of the first steps of a multistep method.
    fn start<R: Real, I: MapIntegrator>(
        s: &mut Self::State<R, I>,
        job: &Job,
        masses: &I::Masses<Self::Number<R>>,
    );

    /// One step.
    fn step<R: Real, I: MapIntegrator>(
        s: &mut Self::State<R, I>,
        masses: &I::Masses<Self::Number<R>>,
    );

    /// The value of a pixel of which `counted` steps count. `R` is the number of a single lane.
    fn value<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        counted: u32,
        job: &Job,
        masses: &I::Masses<Self::Number<R>>,
    ) -> Self::Value;
}
