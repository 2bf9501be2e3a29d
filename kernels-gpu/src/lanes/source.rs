//! The sources of pixels, which also receive the values.

use super::IDLE;
use crate::Real;
use crate::integrator::MapIntegrator;
use crate::map::{Job, Masses, Point};
use crate::quantity::Quantity;

/// A pixel to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixel {
    /// Its number in the whole map, in row-major order.
    pub number: u64,
    /// The number by which the source identifies it, less than [`IDLE`].
    pub slot: u32,
}

const _: () = assert!(IDLE > 0);

/// A source of pixels, which also receives their values.
pub trait PixelSource<V> {
    /// Whether pixels may have their own [masses](Self::masses).
    const OWN_MASSES: bool = false;

    /// Returns the next pixel, if there is one.
    fn next(&mut self) -> Option<Pixel>;
    /// Receives the value of the pixel with this slot.
    fn done(&mut self, slot: u32, value: V);
    /// The start state of a pixel, given by its number. By default it is that of the job's grid.
    #[inline(always)]
    fn point(&self, job: &Job, number: u64) -> Point {
        job.grid.point(number)
    }
    /// The masses of a pixel, given by its number, if they differ from the job's. Either all pixels have masses of their own, or none
    /// has.
    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        let _ = number;
        None
    }
}

/// A [`PixelSource`] whose pixels may already be in progress and that receives their final states, so that an interrupted computation
/// gives the bits of an uninterrupted one.
pub trait ResumableSource<Q: Quantity, I: MapIntegrator, R: Real>: PixelSource<Q::Value> {
    /// The state of a pixel and the number of steps that it has taken; `None` for a pixel at its start.
    #[inline(always)]
    fn resume(&mut self, slot: u32) -> Option<(Q::State<R::Lane, I>, u32)> {
        let _ = slot;
        None
    }
    /// Receives the final state of a pixel; called just before [`done`](PixelSource::done).
    #[inline(always)]
    fn leave(&mut self, slot: u32, end: Ended<'_, Q, I, R>) {
        let _ = (slot, end);
    }
}

/// The state in which a pixel ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a, Q: Quantity, I: MapIntegrator, R: Real> {
    /// The state of all lanes, of which [`lane`](Self::lane) is the pixel's.
    pub state: &'a Q::State<R, I>,
    /// The pixel's lane.
    pub lane: usize,
    /// Number of steps that the pixel has taken, at most one more than requested.
    pub taken: u32,
    /// Number of its last steps that do not count: 0, 1 or 2.
    pub over: u32,
}

impl<Q: Quantity, I: MapIntegrator, R: Real> Ended<'_, Q, I, R> {
    /// The pixel in a form that can be continued later.
    #[inline(always)]
    pub fn item(&self) -> Item<Q::State<R::Lane, I>> {
        use crate::PerLane as _;
        Item {
            state: self.state.lane(self.lane),
            taken: self.taken,
            over: self.over,
        }
    }
}

/// A pixel in progress, with a state of type `S`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Item<S> {
    /// The state of the pixel.
    pub state: S,
    /// Number of steps that the pixel has taken.
    pub taken: u32,
    /// Number of its last steps that do not count (0, 1 or 2); if it is not 0, the pixel has ended.
    pub over: u32,
}

impl<S> Item<S> {
    /// A pixel before its first step.
    pub fn new(state: S) -> Self {
        Self {
            state,
            taken: 0,
            over: 0,
        }
    }

    /// Whether there is anything left to compute if the pixel takes up to `steps` steps.
    pub fn goes_on(&self, steps: u32) -> bool {
        self.over == 0 && self.taken < steps
    }

    /// Number of steps that count, out of `steps`. The item must have ended or taken this many steps.
    pub fn counted(&self, steps: u32) -> u32 {
        (self.taken - self.over).min(steps)
    }
}

/// A source whose pixels all start from their beginning.
pub(super) struct FromStart<'a, S>(pub &'a mut S);

impl<V, S: PixelSource<V>> PixelSource<V> for FromStart<'_, S> {
    const OWN_MASSES: bool = S::OWN_MASSES;

    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        self.0.next()
    }
    #[inline(always)]
    fn done(&mut self, slot: u32, value: V) {
        self.0.done(slot, value);
    }
    #[inline(always)]
    fn point(&self, job: &Job, number: u64) -> Point {
        self.0.point(job, number)
    }
    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        self.0.masses(number)
    }
}

impl<Q: Quantity, I: MapIntegrator, R: Real, S: PixelSource<Q::Value>> ResumableSource<Q, I, R>
    for FromStart<'_, S>
{
}
