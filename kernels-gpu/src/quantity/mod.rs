//! The quantities that a map computes for each pixel, each with one file and one row of [`quantities`](crate::quantities). An
//! [`Observable`] of one system is a quantity.
//!
//! | name | value | systems | ends early |
//! |---|---|---|---|
//! | `divergence` | number of steps that began with the twins together | twins | when they part |
//! | `closest-approach` | least distance of any two bodies (length) | one | when a coordinate is NaN |
//! | `greatest-speed` | greatest speed of any body in the frame of the centre of mass (length / time) | one | when a coordinate is NaN |
//! | `ftle` | finite-time Lyapunov exponent (1 / time) | one, with a tangent vector | when the vector is NaN |

use core::fmt::Debug;

use crate::integrator::MapIntegrator;
use crate::map::{Context, Masses, OwnMasses, Point};
use crate::{PerLane, Real};

mod observable;

pub use observable::{Observable, Observed, System};

/// The table of quantities. Calls `$callback` (the path of a macro, in braces) with the context and one row for each quantity: its
/// type, its name in kernel names, which is also that of its file, and the precisions in which it is compiled, `every` or `f64`
/// ([`methods`](mod@crate::methods)).
#[macro_export]
macro_rules! quantities {
    ($callback:tt $context:tt) => {
        $crate::call! { $callback $context
            Divergence divergence every,
            ClosestApproach closest_approach f64,
            GreatestSpeed greatest_speed f64,
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

/// The mapping of a quantity's values to colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear in the value.
    Linear,
    /// Linear in the logarithm of the value. 0 has the colour of the least value above it.
    Logarithmic,
}

/// The masses of the items in the lanes of `R`, for a quantity and an integrator.
pub type LaneMasses<Q, I, R> =
    OwnMasses<<I as MapIntegrator>::Masses<<Q as Quantity>::Number<R>>, <Q as Quantity>::Terms<R>>;

/// The context of the items in the lanes of `R`, for a quantity and an integrator.
pub type ContextOf<'a, Q, I, R> = Context<
    'a,
    <I as MapIntegrator>::Masses<<Q as Quantity>::Number<R>>,
    <Q as Quantity>::Terms<R>,
>;

/// A quantity of a pixel.
pub trait Quantity: Copy + Debug + Send + Sync + 'static {
    /// Its name on the command line and in files.
    const NAME: &'static str;

    /// The meaning of the value, for pictures.
    const LABEL: &'static str;

    /// The unit of the value.
    const UNIT: &'static str;

    /// The mapping of its values to colours.
    const SCALE: Scale;

    /// A description in one line, for lists of quantities.
    const HELP: &'static str;

    /// Whether the value is the number of steps that a pixel took. Pictures then show the number of steps left.
    const COUNTS_STEPS: bool = false;

    /// Whether the quantity compares a system with its twin.
    const HAS_TWINS: bool = false;

    /// The type of a pixel's value, which is plain data.
    type Value: Copy + Default + Debug + PartialEq + Send + Sync + 'static;

    /// Number of steps between checks whether pixels go on, 1 or 2. With 2, a pixel may take one step too many, which must not affect
    /// its value.
    const STRIDE: u32;

    /// The number in which trajectories are computed.
    type Number<R: Real>: Real<Lane = Self::Number<R::Lane>>;

    /// The mass terms that the quantity needs in addition to those of the integrators.
    type Terms<R: Real>: PerLane<One = Self::Terms<R::Lane>> + Debug;

    /// The state of a pixel in progress.
    type State<R: Real, I: MapIntegrator>: PerLane<One = Self::State<R::Lane, I>> + Debug;

    /// The terms rounded to these numbers, in every lane.
    fn terms<R: Real>(masses: &Masses) -> Self::Terms<R>;

    /// The masses of an item in the forms that its context has.
    #[inline(always)]
    fn own_masses<R: Real, I: MapIntegrator>(masses: &Masses) -> LaneMasses<Self, I, R> {
        LaneMasses::<Self, I, R> {
            masses: I::masses(masses),
            terms: Self::terms(masses),
        }
    }

    /// The state of a pixel before its first step.
    fn begin<R: Real, I: MapIntegrator>(
        point: &Point,
        c: ContextOf<'_, Self, I, R>,
    ) -> Self::State<R, I>;

    /// Whether the pixel goes on with another step.
    fn goes_on<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        c: ContextOf<'_, Self, I, R>,
    ) -> R::Mask;

    /// Takes one of the first steps of a multistep method.
    fn start<R: Real, I: MapIntegrator>(s: &mut Self::State<R, I>, c: ContextOf<'_, Self, I, R>);

    /// Takes one step.
    fn step<R: Real, I: MapIntegrator>(s: &mut Self::State<R, I>, c: ContextOf<'_, Self, I, R>);

    /// The value of a pixel for which `counted` steps count. `R` is the number of a single lane.
    fn value<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        counted: u32,
        c: ContextOf<'_, Self, I, R>,
    ) -> Self::Value;
}
