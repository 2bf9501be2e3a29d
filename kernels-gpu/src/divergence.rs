//! Divergence maps: for each start position of one body, the number of steps until its trajectory and that of a
//! slightly shifted twin part.
//!
//! A [`Job`] is the map as plain data; a [`Walker`] steps one pixel (or one a lane) and asks a [`Feed`] for the
//! next when it is done. GPU threads, CPU lanes and the emulator all run [`Walker::walk`].

use crate::integrator::three_body::{ExplicitEuler, Integrator, Memory, Start, State};
use crate::physics::three_body::{FromPulls, Pulls, Relative};
use crate::{Mask, PerLane, Real, Vec3};

/// The rectangle of start positions and everything else that the start state of a pixel depends on.
///
/// Body 0 here is the grid body, the one that is placed by the pixel and has the shifted twin.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Grid {
    /// Low corner of the map: centre - span/2, in length, along the two spanned axes.
    pub corner: [f64; 2],
    /// Extent of the map in length.
    pub span: [f64; 2],
    /// Pixels along the first spanned axis (columns).
    pub width: u32,
    /// Pixels along the second spanned axis (rows).
    pub height: u32,
    /// Which coordinates (0, 1, 2) of the grid body the columns and rows span.
    pub axes: [u32; 2],
    /// Positions; of body 0 only the coordinate that is not spanned is used.
    pub positions: [[f64; 3]; 3],
    /// Relative velocities times dt (length a step).
    pub velocities_dt: Relative<f64>,
    /// What is added to the position of body 0 in the twin system.
    pub shift: [f64; 3],
}

impl Grid {
    /// Start position of the grid body at `pixel` (row-major: row = pixel / width).
    ///
    /// Coordinate = corner + span · (index / count), in this order of operations.
    #[inline(always)]
    pub fn start(&self, pixel: u64) -> [f64; 3] {
        let column = pixel % self.width as u64;
        let row = pixel / self.width as u64;
        let a = self.corner[0] + self.span[0] * (column as f64 / self.width as f64);
        let b = self.corner[1] + self.span[1] * (row as f64 / self.height as f64);
        // Selected, not indexed: a run-time index would put the vector into local memory on a GPU.
        let pick = |axis: u32| {
            if self.axes[0] == axis {
                a
            } else if self.axes[1] == axis {
                b
            } else {
                self.positions[0][axis as usize]
            }
        };
        [pick(0), pick(1), pick(2)]
    }

    /// The two systems of `pixel` at step 0.
    #[inline(always)]
    pub fn twins<R: Real, M: Memory<R>>(&self, pixel: u64) -> Twins<R, M> {
        let point = Point {
            positions: [self.start(pixel), self.positions[1], self.positions[2]],
            velocities_dt: self.velocities_dt,
        };
        point.twins(self.shift)
    }
}

/// The start state of one pixel, where there is no grid.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Point {
    /// Positions, that of the grid body first.
    pub positions: [[f64; 3]; 3],
    /// Relative velocities times dt (length a step).
    pub velocities_dt: Relative<f64>,
}

impl Point {
    /// The system and its twin, whose grid body is moved by `shift`, at step 0.
    #[inline(always)]
    pub fn twins<R: Real, M: Memory<R>>(&self, shift: [f64; 3]) -> Twins<R, M> {
        let p = self.positions[0];
        let shifted = [p[0] + shift[0], p[1] + shift[1], p[2] + shift[2]];
        let start = |grid_body: [f64; 3]| {
            let bodies = [grid_body, self.positions[1], self.positions[2]];
            State::new(&Relative::from_bodies(&bodies), &self.velocities_dt)
        };
        Twins {
            a: start(p),
            b: start(shifted),
        }
    }

    /// The same in another unit of length, as [`Job::scaled`].
    pub fn scaled(mut self, factor: f64) -> Self {
        let scale = |x: &mut f64| *x *= factor;
        self.positions.iter_mut().flatten().for_each(scale);
        self.velocities_dt = self.velocities_dt.scaled(factor);
        self
    }
}

/// How far apart the grid bodies of twins are: p₀ - p₀′ = centre - w₁ (a - a′) - w₂ (b - b′).
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Parting<R> {
    /// Centre of mass of the system less that of its twin (constant in time).
    pub centre: Vec3<R>,
    /// -m₁/M and -m₂/M, M being the total mass.
    pub minus_weights: [R; 2],
    /// Square of the distance up to which the twins count as together.
    pub critical2: R,
}

impl Parting<f64> {
    /// From the masses (body 0 is the grid body), the shift of the twin's grid body and the critical distance.
    pub fn new(masses: [f64; 3], shift: [f64; 3], critical_distance: f64) -> Self {
        let total = masses[0] + masses[1] + masses[2];
        // Three test bodies pull nobody: the twins stay a shift apart, as if all mass were elsewhere.
        let weight = |m: f64| if total > 0.0 { m / total } else { 0.0 };
        let share = if total > 0.0 { masses[0] / total } else { 1.0 };
        Self {
            centre: Vec3 {
                x: -shift[0] * share,
                y: -shift[1] * share,
                z: -shift[2] * share,
            },
            minus_weights: [-weight(masses[1]), -weight(masses[2])],
            critical2: critical_distance * critical_distance,
        }
    }

    /// The same in another unit of length, `factor` of which make the present one.
    pub fn scaled(mut self, factor: f64) -> Self {
        self.centre = self.centre.scaled(factor);
        self.critical2 *= factor * factor;
        self
    }

    /// The nearest numbers of another kind, in every lane.
    #[inline(always)]
    pub fn convert<R: Real>(&self) -> Parting<R> {
        Parting {
            centre: self.centre.convert(),
            minus_weights: [
                R::from_f64(self.minus_weights[0]),
                R::from_f64(self.minus_weights[1]),
            ],
            critical2: R::from_f64(self.critical2),
        }
    }
}

impl<R: Real> Parting<R> {
    /// Replaces one lane by the same lane of `from`.
    #[inline(always)]
    pub fn set_lane(&mut self, lane: usize, from: &Self) {
        self.centre.set_lane(lane, &from.centre);
        self.minus_weights.set_lane(lane, &from.minus_weights);
        self.critical2.set_lane(lane, &from.critical2);
    }
}

/// What the masses of three bodies come to, for their steps and for when twins count as parted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Masses {
    /// G·m·dt² and softening.
    pub pulls: Pulls<f64>,
    /// When twins count as parted.
    pub parting: Parting<f64>,
}

impl Masses {
    /// The same in another unit of length, as [`Job::scaled`].
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            pulls: self.pulls.scaled(factor),
            parting: self.parting.scaled(factor),
        }
    }
}

/// The start state of one pixel that has masses of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct MassivePoint {
    /// Positions and velocities.
    pub point: Point,
    /// What its masses come to.
    pub masses: Masses,
}

/// [`Masses`] as a loop keeps them: the same in every lane, or each lane's own.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Weights<R: Real, I: Integrator<R>> {
    /// For the steps.
    pub pulls: I::Pulls,
    /// For when twins count as parted.
    pub parting: Parting<R>,
}

impl<R: Real, I: Integrator<R>> Weights<R, I> {
    /// The same in every lane.
    #[inline(always)]
    pub fn spread(masses: &Masses) -> Self {
        Self {
            pulls: I::Pulls::from_pulls(&masses.pulls),
            parting: masses.parting.convert(),
        }
    }

    /// Replaces one lane by the same lane of `from`.
    #[inline(always)]
    pub fn set_lane(&mut self, lane: usize, from: &Self)
    where
        R: Real,
    {
        self.pulls.set_lane(lane, &from.pulls);
        self.parting.set_lane(lane, &from.parting);
    }
}

/// A divergence map, or a part of one, as plain data: what every engine computes from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Job {
    /// Start positions.
    pub grid: Grid,
    /// G·m·dt² and softening.
    pub pulls: Pulls<f64>,
    /// When twins count as parted.
    pub parting: Parting<f64>,
    /// First pixel of the part that one thread a pixel computes; a [`Feed`] has numbers of its own.
    pub first: u64,
    /// Pixels in that part.
    pub count: u32,
    /// Steps after which a pixel ends as never parted.
    pub steps: u32,
    /// How multistep methods take their first steps.
    pub start: Start,
}

impl Job {
    /// What the masses come to.
    #[inline(always)]
    pub fn masses(&self) -> Masses {
        Masses {
            pulls: self.pulls,
            parting: self.parting,
        }
    }

    /// The same map in another unit of length, `factor` of which make the present one. A power of two changes no digit.
    pub fn scaled(mut self, factor: f64) -> Self {
        let grid = &mut self.grid;
        let scale = |x: &mut f64| *x *= factor;
        grid.corner.iter_mut().for_each(scale);
        grid.span.iter_mut().for_each(scale);
        grid.positions.iter_mut().flatten().for_each(scale);
        grid.velocities_dt = grid.velocities_dt.scaled(factor);
        grid.shift.iter_mut().for_each(scale);
        let masses = self.masses().scaled(factor);
        self.pulls = masses.pulls;
        self.parting = masses.parting;
        self
    }
}

/// A system and its twin.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Twins<R, M> {
    /// The system.
    pub a: State<R, M>,
    /// The system with the grid body shifted.
    pub b: State<R, M>,
}

impl<R: Real, M> Twins<R, M> {
    /// Whether the two grid bodies are within the critical distance; false if either position is NaN.
    #[inline(always)]
    pub fn together(&self, parting: &Parting<R>) -> R::Mask {
        let d = parting
            .centre
            .add_scaled(parting.minus_weights[0], self.a.q.a - self.b.q.a)
            .add_scaled(parting.minus_weights[1], self.a.q.b - self.b.q.b);
        d.norm2_plus(R::from_f64(0.0)).at_most(parting.critical2)
    }
}

/// One step of both.
#[inline(always)]
fn step<R: Real, I: Integrator<R>>(twins: &mut Twins<R, I::Memory>, pulls: &I::Pulls) {
    I::step_both(&mut twins.a, &mut twins.b, pulls);
}

/// Prepares both for their first step and takes those that need a start, up to `steps` and as long as the twins are
/// together. Returns how many; fewer than [`Integrator::STARTS`] if the pixel is done.
#[inline(always)]
fn begin<R: Real, I: Integrator<R>>(
    twins: &mut Twins<R, I::Memory>,
    job: &Job,
    Weights { pulls, parting }: &Weights<R, I>,
) -> u32 {
    I::begin(&mut twins.a, pulls);
    I::begin(&mut twins.b, pulls);
    let mut taken = 0;
    while taken < I::STARTS && taken < job.steps && twins.together(parting).all() {
        I::start(&mut twins.a, job.start, pulls);
        I::start(&mut twins.b, job.start, pulls);
        taken += 1;
    }
    taken
}

/// A pixel to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixel {
    /// Which it is of the whole map, row-major.
    pub number: u64,
    /// What the feed knows it by: below [`IDLE`].
    pub slot: u32,
}

/// Where a [`Walker`] gets pixels from and brings results to.
pub trait Feed {
    /// Whether pixels may have [masses](Self::masses) of their own.
    const OWN_MASSES: bool = false;

    /// The next pixel, if there is one.
    fn next(&mut self) -> Option<Pixel>;
    /// The pixel of this slot was together at the start of `times` steps.
    fn done(&mut self, slot: u32, times: u32);
    /// The start state of the pixel of this number: that of the job's grid, if the feed has no other.
    #[inline(always)]
    fn twins<R: Real, M: Memory<R>>(&self, job: &Job, number: u64) -> Twins<R, M> {
        job.grid.twins(number)
    }
    /// The masses of the pixel of this number, if they are not the job's. Of all pixels, or of none.
    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        let _ = number;
        None
    }
}

/// A [`Feed`] of pixels that may be under way already, and that wants to know where they ended: an interrupted computation
/// has the bits of one that was not.
pub trait Course<R: Real, M>: Feed {
    /// The twins of a pixel and the steps that they have taken; nothing for a pixel at its start.
    #[inline(always)]
    fn resume(&mut self, slot: u32) -> Option<(Twins<R, M>, u32)> {
        let _ = slot;
        None
    }
    /// Where a pixel ended; called just before [`done`](Feed::done), but not for one that is done by the first steps of a
    /// multistep method.
    #[inline(always)]
    fn leave(&mut self, slot: u32, end: Leave<'_, R, M>) {
        let _ = (slot, end);
    }
}

/// Where a pixel ended.
#[derive(Clone, Copy, Debug)]
pub struct Leave<'a, R: Real, M> {
    /// The systems, of which [`lane`](Self::lane) is the pixel's.
    pub twins: &'a Twins<R, M>,
    /// Its lane.
    pub lane: usize,
    /// Steps that the systems have taken; at most one more than were asked for.
    pub taken: u32,
    /// How many of the last steps (0, 1 or 2) did not begin together.
    pub parted: u32,
}

/// Pixels of a feed, all from their start.
struct FromStart<'a, F>(&'a mut F);

impl<F: Feed> Feed for FromStart<'_, F> {
    const OWN_MASSES: bool = F::OWN_MASSES;

    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        self.0.next()
    }
    #[inline(always)]
    fn done(&mut self, slot: u32, times: u32) {
        self.0.done(slot, times);
    }
    #[inline(always)]
    fn twins<S: Real, M: Memory<S>>(&self, job: &Job, number: u64) -> Twins<S, M> {
        self.0.twins(job, number)
    }
    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        self.0.masses(number)
    }
}

impl<R: Real, M, F: Feed> Course<R, M> for FromStart<'_, F> {}

/// Marks a lane that has not asked for a pixel yet.
pub const FRESH: u32 = u32::MAX;
/// Marks a lane for which no pixel was left.
pub const IDLE: u32 = u32::MAX - 1;

/// One pixel, or `N` lanes of them, under way. It can be put aside between calls of [`walk`](Self::walk) and
/// goes on with the same bits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Walker<R: Real, const N: usize, I: Integrator<R> = ExplicitEuler> {
    /// The systems.
    pub twins: Twins<R, I::Memory>,
    /// [Slot](Pixel::slot) of each lane's pixel; [`FRESH`] or [`IDLE`] if it has none.
    pub pixel: [u32; N],
    /// Steps each lane's pixel has taken.
    pub taken: [u32; N],
}

impl<R: Real, const N: usize, I: Integrator<R>> Walker<R, N, I> {
    /// A walker that has not asked for a pixel yet.
    #[inline(always)]
    pub fn fresh() -> Self {
        Self {
            twins: resting(),
            pixel: [FRESH; N],
            taken: [0; N],
        }
    }

    /// Lanes that found no pixel ask again at the next [`walk`](Self::walk).
    #[inline(always)]
    pub fn ask_again(&mut self) {
        let mut lane = 0;
        while lane < N {
            if self.pixel[lane] == IDLE {
                self.pixel[lane] = FRESH;
            }
            lane += 1;
        }
    }

    /// Goes `budget` pairs of steps, or fewer if the feed is dry. Returns how many it went; fewer than `budget`
    /// means that there is nothing left to do.
    ///
    /// Whether the twins are together is asked before each step, but looked at after two: a pixel that has parted,
    /// or had all its steps, may run ahead by one, since only its count is kept.
    #[inline(always)]
    pub fn walk<F: Feed>(&mut self, job: &Job, budget: u32, feed: &mut F) -> u32 {
        self.walk_course(job, budget, &mut FromStart(feed))
    }

    /// [`walk`](Self::walk) along pixels that may have masses of their own. `weights` are those of the pixels under way, to be
    /// kept with the walker; at first any.
    #[inline(always)]
    pub fn walk_weighted<F: Feed>(
        &mut self,
        job: &Job,
        budget: u32,
        weights: &mut Weights<R, I>,
        feed: &mut F,
    ) -> u32 {
        self.walk_on(job, budget, weights, &mut FromStart(feed))
    }

    /// [`walk`](Self::walk) along pixels that may be under way already.
    #[inline(always)]
    pub fn walk_course<F: Course<R, I::Memory>>(
        &mut self,
        job: &Job,
        budget: u32,
        feed: &mut F,
    ) -> u32 {
        self.walk_on(job, budget, &mut Weights::spread(&job.masses()), feed)
    }

    #[inline(always)]
    fn walk_on<F: Course<R, I::Memory>>(
        &mut self,
        job: &Job,
        budget: u32,
        kept: &mut Weights<R, I>,
        feed: &mut F,
    ) -> u32 {
        assert!(N == R::LANES);
        // A copy: what others can reach through a pointer would be read from memory in every step.
        let mut weights = *kept;
        let mut spent = 0;
        // Pairs of steps until a lane has had all its steps or the budget ends; and how many were planned.
        let mut left = 0;
        let mut planned = 0;
        let mut first = self.twins.together(&weights.parting);
        let mut second = first;
        loop {
            // One loop with a rare branch, not a loop in a loop: the threads of a warp would wait for each
            // other at the end of an inner loop.
            if left == 0 || !first.all() || !second.all() {
                let went = planned - left;
                spent += went;
                let mut nearest = budget - spent;
                let mut busy = false;
                let mut lane = 0;
                while lane < N {
                    if self.pixel[lane] < IDLE && went > 0 {
                        let parted = match (first.lane(lane), second.lane(lane)) {
                            (false, _) => 2,
                            (true, false) => 1,
                            (true, true) => 0,
                        };
                        self.taken[lane] += 2 * went;
                        let times = self.taken[lane] - parted;
                        if parted > 0 || times >= job.steps {
                            let end = Leave {
                                twins: &self.twins,
                                lane,
                                taken: self.taken[lane],
                                parted,
                            };
                            feed.leave(self.pixel[lane], end);
                            feed.done(self.pixel[lane], times.min(job.steps));
                            self.pixel[lane] = FRESH;
                        }
                    }
                    if self.pixel[lane] == FRESH {
                        self.refill(lane, job, &mut weights, feed);
                    }
                    if self.pixel[lane] < IDLE {
                        busy = true;
                        nearest = nearest.min((job.steps - self.taken[lane]).div_ceil(2));
                    }
                    lane += 1;
                }
                if !busy || spent == budget {
                    if F::OWN_MASSES {
                        *kept = weights;
                    }
                    return spent;
                }
                left = nearest;
                planned = nearest;
            }
            first = self.twins.together(&weights.parting);
            step::<R, I>(&mut self.twins, &weights.pulls);
            second = self.twins.together(&weights.parting);
            step::<R, I>(&mut self.twins, &weights.pulls);
            left -= 1;
        }
    }

    /// Gives `lane` the next pixel that is not done by its starting steps, or leaves it idle with twins at rest.
    #[inline(always)]
    fn refill<F: Course<R, I::Memory>>(
        &mut self,
        lane: usize,
        job: &Job,
        weights: &mut Weights<R, I>,
        feed: &mut F,
    ) {
        let (slot, twins, taken) = loop {
            let Some(Pixel { number, slot }) = feed.next() else {
                break (IDLE, resting(), 0);
            };
            let mut all = *weights;
            if F::OWN_MASSES
                && let Some(masses) = feed.masses(number)
            {
                all = Weights::spread(&masses);
                weights.set_lane(lane, &all);
            }
            if let Some((twins, taken)) = feed.resume(slot) {
                break (slot, twins, taken);
            }
            let mut twins = feed.twins(job, number);
            let taken = begin::<R, I>(&mut twins, job, &all);
            if I::STARTS == 0 || (taken == I::STARTS && taken < job.steps) {
                break (slot, twins, taken);
            }
            feed.done(slot, taken);
        };
        self.taken[lane] = taken;
        self.pixel[lane] = slot;
        self.twins.a.set_lane(lane, &twins.a);
        self.twins.b.set_lane(lane, &twins.b);
    }
}

/// Twins that stay together whatever the masses: far apart, at rest and equal.
#[inline(always)]
fn resting<R: Real, M: Memory<R>>() -> Twins<R, M> {
    let rest = Vec3 {
        x: 0.0,
        y: 0.0,
        z: 0.0,
    };
    let q = Relative {
        a: Vec3 { x: 1.0e9, ..rest },
        b: Vec3 { y: 1.0e9, ..rest },
    };
    let s = State::new(&q, &Relative { a: rest, b: rest });
    Twins { a: s, b: s }
}

/// `times` of one pixel (relative to the job's first), step by step: the plain form of what
/// [`Walker::walk`] does.
#[inline(always)]
pub fn pixel<R: Real, I: Integrator<R>>(job: &Job, pixel: u32) -> u32 {
    let weights = Weights::<R, I>::spread(&job.masses());
    let mut twins = job.grid.twins(job.first + pixel as u64);
    let mut times = begin::<R, I>(&mut twins, job, &weights);
    while times < job.steps && twins.together(&weights.parting).all() {
        times += 1;
        step::<R, I>(&mut twins, &weights.pulls);
    }
    times
}
