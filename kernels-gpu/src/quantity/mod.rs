//! What a map computes of each pixel: one file and one row of [`methods`](mod@crate::methods) each.
//!
//! | name | value | systems | ends early |
//! |---|---|---|---|
//! | `divergence` | steps that began with the twins together | twins | when they part |

use core::fmt::Debug;

use crate::integrator::MapIntegrator;
use crate::map::{Job, Masses, Point};
use crate::{PerLane, Real};

mod divergence;

pub use divergence::{Divergence, Twins};

/// A quantity of a pixel.
pub trait Quantity: Copy + Debug + Send + Sync + 'static {
    /// Its name on the command line and in files.
    const NAME: &'static str;

    /// A pixel's value: plain data.
    type Value: Copy + Default + Debug + PartialEq + Send + Sync + 'static;

    /// Steps between two looks at whether pixels go on, 1 or 2. With 2, a pixel may run ahead by a step: its state must not count then.
    const STRIDE: u32;

    /// The number in which trajectories are computed.
    type Number<R: Real>: Real<Lane = Self::Number<R::Lane>>;

    /// What it needs to know of the masses, beyond what integrators do.
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
