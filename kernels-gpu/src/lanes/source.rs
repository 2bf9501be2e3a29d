//! Where pixels come from and where their values go.

use super::IDLE;
use crate::Real;
use crate::integrator::MapIntegrator;
use crate::map::{Job, Masses, Point};
use crate::quantity::Quantity;

/// A pixel to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixel {
    /// Which it is of the whole map, row-major.
    pub number: u64,
    /// The source's own number for it, below [`IDLE`].
    pub slot: u32,
}

const _: () = assert!(IDLE > 0);

/// Gives pixels and takes their values.
pub trait PixelSource<V> {
    /// Whether pixels may have [masses](Self::masses) of their own.
    const OWN_MASSES: bool = false;

    /// The next pixel, if there is one.
    fn next(&mut self) -> Option<Pixel>;
    /// The value of the pixel of this slot.
    fn done(&mut self, slot: u32, value: V);
    /// The start state of the pixel of this number: that of the job's grid, unless the source has another.
    #[inline(always)]
    fn point(&self, job: &Job, number: u64) -> Point {
        job.grid.point(number)
    }
    /// The masses of the pixel of this number, if they are not the job's. Of all pixels, or of none.
    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        let _ = number;
        None
    }
}

/// A [`PixelSource`] of pixels that may already be in progress and that receives their final states, so that an interrupted
/// computation gives the bits of an uninterrupted one.
pub trait ResumableSource<Q: Quantity, I: MapIntegrator, R: Real>: PixelSource<Q::Value> {
    /// The state of a pixel and the steps that it has taken; nothing for a pixel at its start.
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

/// Where a pixel ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a, Q: Quantity, I: MapIntegrator, R: Real> {
    /// The state, of which [`lane`](Self::lane) is the pixel's.
    pub state: &'a Q::State<R, I>,
    /// Its lane.
    pub lane: usize,
    /// Steps that it has taken; at most one more than were asked for.
    pub taken: u32,
    /// How many of the last steps do not count: 0, 1 or 2.
    pub over: u32,
}

impl<Q: Quantity, I: MapIntegrator, R: Real> Ended<'_, Q, I, R> {
    /// The pixel, to go on with later.
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

/// A pixel under way, of the state `S`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Item<S> {
    /// Its state.
    pub state: S,
    /// Steps that it has taken.
    pub taken: u32,
    /// How many of the last of these (0, 1 or 2) do not count: if any, the pixel has ended.
    pub over: u32,
}

impl<S> Item<S> {
    /// Before its first step.
    pub fn new(state: S) -> Self {
        Self {
            state,
            taken: 0,
            over: 0,
        }
    }

    /// Whether there is anything left to compute, up to `steps` steps.
    pub fn goes_on(&self, steps: u32) -> bool {
        self.over == 0 && self.taken < steps
    }

    /// The number of steps that count, of `steps`. The item must have ended or have taken as many.
    pub fn counted(&self, steps: u32) -> u32 {
        (self.taken - self.over).min(steps)
    }
}

/// The pixels of a source, all from their start.
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
