//! Pixels in progress, one in each lane: a [`LaneState`] takes their steps and requests the next pixel from a [`PixelSource`] when one
//! is done. GPU threads, CPU lanes and the emulator all run [`LaneState::run`].

use core::fmt::Debug;

use crate::integrator::MapIntegrator;
use crate::map::{Job, Point};
use crate::quantity::{ContextOf, LaneMasses, Quantity};
use crate::{Mask, PerLane, Real};

mod source;

pub use source::{Pixel, PixelSource};

/// Marks a lane that has not asked for a pixel yet.
pub const FRESH: u32 = u32::MAX;
/// Own steps after which a pixel ends in any case.
const MOST_OWN_STEPS: u32 = u32::MAX - 2;
/// Marks a lane for which no pixel was left.
pub const IDLE: u32 = u32::MAX - 1;

/// One pixel in progress, or one in each lane of `R`. It can be stored between calls of [`run`](Self::run) and continues with the
/// same bits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaneState<Q: Quantity, I: MapIntegrator, R: Real> {
    /// The quantity's state of the pixels.
    pub state: Q::State<R, I>,
    /// [Slot](Pixel::slot) of each lane's pixel; [`FRESH`] or [`IDLE`] if it has none.
    pub pixel: R::Counts,
    /// Number of steps that each lane's pixel has taken.
    pub taken: R::Counts,
}

/// A pixel before its first step.
///
/// On CPUs, this function, [`start`] and `value` work on a single lane and are not inlined: a pixel needs them only a few times, and
/// inlined, their code would be larger than that of the steps.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
pub fn begin<Q: Quantity, I: MapIntegrator, R: Real>(
    point: &Point,
    c: ContextOf<'_, Q, I, R>,
) -> Q::State<R, I> {
    Q::begin(point, c)
}

/// Takes one of the starting steps of a multistep method.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
pub fn start<Q: Quantity, I: MapIntegrator, R: Real>(
    state: &mut Q::State<R, I>,
    c: ContextOf<'_, Q, I, R>,
) {
    Q::start::<R, I>(state, c);
}

/// The value of a pixel whose first `counted` steps count.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
fn value<Q: Quantity, I: MapIntegrator, R: Real>(
    state: &Q::State<R, I>,
    counted: u32,
    c: ContextOf<'_, Q, I, R>,
) -> Q::Value {
    Q::value::<R, I>(state, counted, c)
}

impl<Q: Quantity, I: MapIntegrator, R: Real> LaneState<Q, I, R> {
    /// Whether steps have lengths of their own; then their number says nothing about how far a pixel is.
    const OWN_STEPS: bool = Q::HAS_TWINS && I::TWINS_HAVE_OWN_STEPS;
    /// See [`Quantity::STRIDE`]. A step of its own is long enough to be checked.
    const STRIDE: u32 = if Self::OWN_STEPS { 1 } else { Q::STRIDE };

    /// Steps after which a pixel ends if it has not ended before.
    #[inline(always)]
    fn most_steps(job: &Job) -> u32 {
        if Self::OWN_STEPS {
            MOST_OWN_STEPS
        } else {
            job.steps
        }
    }

    /// Number of the map's steps that the pixel of a lane has taken, as far as they are known before it ends.
    #[inline(always)]
    pub fn progress(&self, lane: usize) -> u32 {
        if Self::OWN_STEPS {
            0
        } else {
            self.taken.as_ref()[lane]
        }
    }

    /// Lanes that have not asked for a pixel yet.
    #[inline(always)]
    pub fn fresh(job: &Job) -> Self {
        let masses = Q::own_masses::<R::Lane, I>(&job.masses);
        let state = begin::<Q, I, R::Lane>(&Point::RESTING, masses.context(job));
        Self {
            state: PerLane::spread(&state),
            pixel: R::counts(FRESH),
            taken: R::counts(0),
        }
    }

    /// Lets lanes that found no pixel ask again in the next [`run`](Self::run).
    #[inline(always)]
    pub fn ask_again(&mut self) {
        for pixel in self.pixel.as_mut() {
            if *pixel == IDLE {
                *pixel = FRESH;
            }
        }
    }

    /// Takes `budget` rounds of [`STRIDE`](Quantity::STRIDE) steps, or fewer if the source has no more pixels. Returns the number of
    /// rounds; fewer than `budget` means that there is nothing left to do.
    ///
    /// Whether a pixel goes on is evaluated before each step, but acted on only after each round. With a stride of 2, a pixel that has
    /// ended or has taken all its steps may therefore take one step too many.
    #[inline(always)]
    pub fn run<S: PixelSource<Q::Value>>(&mut self, job: &Job, budget: u32, source: &mut S) -> u32 {
        let mut masses = Q::own_masses::<R, I>(&job.masses);
        self.run_with_masses(job, budget, &mut masses, source)
    }

    /// Does the same as [`run`](Self::run) for pixels that may have their own masses. `kept` belong to the pixels in progress and
    /// must be kept with the lanes; at first they are arbitrary.
    #[inline(always)]
    pub fn run_with_masses<S: PixelSource<Q::Value>>(
        &mut self,
        job: &Job,
        budget: u32,
        kept: &mut LaneMasses<Q, I, R>,
        source: &mut S,
    ) -> u32 {
        const { assert!(Self::STRIDE == 1 || Self::STRIDE == 2) };
        // This is a copy, because every step would read the masses from memory if other code could access them through a pointer.
        let mut masses = *kept;
        let mut spent = 0;
        // Number of rounds until a lane has taken all its steps or the budget ends, and the number that was planned.
        let mut left = 0;
        let mut planned = 0;
        let mut first = Q::goes_on::<R, I>(&self.state, masses.context(job));
        let mut second = first;
        loop {
            // This is one loop with a rarely taken branch, because in nested loops the threads of a warp would wait for each other at
            // the end of the inner loop.
            if left == 0 || !(first.all() && second.all()) {
                let went = planned - left;
                spent += went;
                let mut nearest = budget - spent;
                let mut busy = false;
                let mut lane = 0;
                while lane < R::LANES {
                    if self.pixel.as_ref()[lane] < IDLE && went > 0 {
                        let over = match (first.lane(lane), second.lane(lane)) {
                            (false, _) => Self::STRIDE,
                            (true, false) => Self::STRIDE - 1,
                            (true, true) => 0,
                        };
                        self.taken.as_mut()[lane] += Self::STRIDE * went;
                        let taken = self.taken.as_ref()[lane];
                        if over > 0 || taken >= Self::most_steps(job) {
                            self.end(lane, over, job, &masses, source);
                        }
                    }
                    if self.pixel.as_ref()[lane] == FRESH {
                        self.refill(lane, job, &mut masses, source);
                    }
                    if self.pixel.as_ref()[lane] < IDLE {
                        busy = true;
                        let rest = Self::most_steps(job) - self.taken.as_ref()[lane];
                        nearest = nearest.min(rest.div_ceil(Self::STRIDE));
                    }
                    lane += 1;
                }
                if !busy || spent == budget {
                    if S::OWN_MASSES {
                        *kept = masses;
                    }
                    return spent;
                }
                left = nearest;
                planned = nearest;
            }
            #[cfg(target_arch = "nvptx64")]
            {
                first = Q::goes_on::<R, I>(&self.state, masses.context(job));
                Q::step::<R, I>(&mut self.state, masses.context(job));
                if Self::STRIDE == 2 {
                    second = Q::goes_on::<R, I>(&self.state, masses.context(job));
                    Q::step::<R, I>(&mut self.state, masses.context(job));
                } else {
                    second = first;
                }
            }
            // On a CPU the loop is as fast as two copies of the step, which may be large.
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let mut step = 0;
                while step < Self::STRIDE {
                    first = second;
                    second = Q::goes_on::<R, I>(&self.state, masses.context(job));
                    Q::step::<R, I>(&mut self.state, masses.context(job));
                    step += 1;
                }
                if Self::STRIDE == 1 {
                    first = second;
                }
            }
            left -= 1;
        }
    }

    /// Ends the pixel of `lane`, whose last `over` steps do not count.
    #[inline(always)]
    fn end<S: PixelSource<Q::Value>>(
        &mut self,
        lane: usize,
        over: u32,
        job: &Job,
        masses: &LaneMasses<Q, I, R>,
        source: &mut S,
    ) {
        let (slot, taken) = (self.pixel.as_ref()[lane], self.taken.as_ref()[lane]);
        let counted = (taken - over).min(Self::most_steps(job));
        let (state, own) = (self.state.lane(lane), masses.lane(lane));
        let value = value::<Q, I, R::Lane>(&state, counted, own.context(job));
        source.done(slot, value);
        self.pixel.as_mut()[lane] = FRESH;
    }

    /// Gives `lane` the next pixel that is not already done by its starting steps, or leaves it idle with bodies at rest.
    #[inline(always)]
    fn refill<S: PixelSource<Q::Value>>(
        &mut self,
        lane: usize,
        job: &Job,
        masses: &mut LaneMasses<Q, I, R>,
        source: &mut S,
    ) {
        loop {
            let next = source.next();
            if R::LANES == 1 && next.is_none() {
                // Nothing reads the state of an idle lane that is alone.
                self.pixel.as_mut()[lane] = IDLE;
                self.taken.as_mut()[lane] = 0;
                return;
            }
            let mut own = masses.lane(lane);
            let (slot, point) = match next {
                None => (IDLE, Point::RESTING),
                Some(Pixel { number, slot }) => {
                    if S::OWN_MASSES
                        && let Some(of_pixel) = source.masses(number)
                    {
                        own = Q::own_masses::<R::Lane, I>(&of_pixel);
                        masses.set_lane(lane, &PerLane::spread(&own));
                    }
                    (slot, source.point(job, number))
                }
            };
            let mut state = begin::<Q, I, R::Lane>(&point, own.context(job));
            let mut taken = 0;
            while taken < I::STARTS
                && taken < Self::most_steps(job)
                && Q::goes_on::<R::Lane, I>(&state, own.context(job)).all()
            {
                start::<Q, I, R::Lane>(&mut state, own.context(job));
                taken += 1;
            }
            self.state.set_lane(lane, &PerLane::spread(&state));
            self.pixel.as_mut()[lane] = slot;
            self.taken.as_mut()[lane] = taken;
            let started = I::STARTS == 0 || (taken >= I::STARTS && taken < Self::most_steps(job));
            if slot == IDLE || started {
                return;
            }
            self.end(lane, 0, job, masses, source);
        }
    }
}

/// Computes the value of one pixel step by step: the plain form of [`LaneState::run`].
#[inline(always)]
pub fn one_pixel<Q: Quantity, I: MapIntegrator, R: Real<Lane = R>>(
    job: &Job,
    number: u64,
) -> Q::Value {
    let masses = Q::own_masses::<R, I>(&job.masses);
    let c = masses.context(job);
    let mut state = Q::begin::<R, I>(&job.grid.point(number), c);
    let mut taken = 0;
    while taken < LaneState::<Q, I, R>::most_steps(job) && Q::goes_on::<R, I>(&state, c).all() {
        if taken < I::STARTS {
            Q::start::<R, I>(&mut state, c);
        } else {
            Q::step::<R, I>(&mut state, c);
        }
        taken += 1;
    }
    Q::value::<R, I>(&state, taken, c)
}
