//! Items from their start to their end.

use crate::evolution::{Evolution, select};
use crate::job::{Column, NOT_FINITE, SHORTEST, STIFF};
use crate::scheme::{self, Scheme};
use crate::{Job, Mask as _, Scalar};

/// Items on their way, in all lanes.
#[derive(Clone, Copy, Debug)]
pub struct Course<R: Scalar, S> {
    /// The states.
    pub state: S,
    /// The items that have not ended.
    pub open: R::Mask,
    /// The outcomes of the others.
    pub outcome: R,
    /// The time of the outcome, or of the end.
    pub time: R,
    /// The steps until then.
    pub steps: R,
    /// The time of items whose steps are their own.
    pub t: R,
    /// Their next step.
    pub h: R,
}

impl<R: Scalar, S> Course<R, S> {
    /// Ends the open items that have an outcome.
    #[inline(always)]
    fn end(&mut self, outcome: R, time: R, steps: R) {
        let ends = self.open.and(outcome.less(R::of(0.5)).not());
        self.end_where(ends, outcome, time, steps);
    }

    #[inline(always)]
    fn end_where(&mut self, ends: R::Mask, outcome: R, time: R, steps: R) {
        self.outcome = R::select(ends, outcome, self.outcome);
        self.time = R::select(ends, time, self.time);
        self.steps = R::select(ends, steps, self.steps);
        self.open = self.open.and(ends.not());
    }
}

/// The start of items with these numbers.
#[inline(always)]
pub fn begin<R: Scalar, E: Evolution<R, D, P>, const D: usize, const P: usize>(
    motion: &E,
    job: &Job,
    start: [R; D],
) -> Course<R, E::State> {
    let mut course = Course {
        state: motion.begin(start),
        open: R::Mask::all_are(true),
        outcome: R::of(0.0),
        time: R::of(job.end),
        steps: R::of(job.steps as f64),
        t: R::of(0.0),
        // The first step is short; its error says how long the next one may be.
        h: R::of(job.end * FIRST),
    };
    if motion.has_outcomes() {
        course.end(motion.outcome(&course.state), R::of(0.0), R::of(0.0));
    }
    course
}

/// Whether items can end before the last step, so that a loop must ask whether any is open.
#[inline(always)]
pub fn may_end<R, E, M, const D: usize, const P: usize>(motion: &E) -> bool
where
    R: Scalar,
    E: Evolution<R, D, P>,
    M: Scheme<R, E>,
{
    M::ERROR_ORDER > 0 || motion.has_outcomes()
}

/// The step with this number, which counts from 0.
#[inline(always)]
pub fn advance<R, E, M, const D: usize, const P: usize>(
    motion: &E,
    job: &Job,
    number: R,
    course: &mut Course<R, E::State>,
) where
    R: Scalar,
    E: Evolution<R, D, P>,
    M: Scheme<R, E>,
{
    if M::ERROR_ORDER == 0 {
        with_fixed_step::<R, E, M, D, P>(motion, job, number, course);
    } else {
        with_own_step::<R, E, M, D, P>(motion, job, number, course);
    }
}

/// All [columns](Column) of items after so many steps.
#[inline(always)]
#[expect(
    clippy::eq_op,
    reason = "a difference with itself says whether a number is finite"
)]
pub fn columns<R, E, M, const D: usize, const P: usize>(
    mut course: Course<R, E::State>,
    steps: R,
) -> ([R; Column::STATE.0 as usize], [R; D])
where
    R: Scalar,
    E: Evolution<R, D, P>,
    M: Scheme<R, E>,
{
    if M::ERROR_ORDER > 0 {
        course.end_where(course.open, R::of(STIFF), course.t, steps);
    }
    let numbers = *E::numbers(&course.state);
    // A sum with a number that is not finite is not finite, and its difference with itself is not 0.
    let mut sum = numbers[0] - numbers[0];
    let mut i = 1;
    while i < D {
        sum = sum + (numbers[i] - numbers[i]);
        i += 1;
    }
    let finite = sum.abs().less(R::of(1.0));
    let outcome = R::select(finite, course.outcome, R::of(NOT_FINITE));
    let [l, w] = E::growth(&course.state);
    let known = [
        outcome,
        course.time,
        course.steps,
        l / course.time,
        w * 2.0 / course.time,
    ];
    (known, numbers)
}

/// Follows the item `first` and the next ones, one in each lane of `R`, to their ends. `write` takes the lane, the place among the
/// [columns](Column) of the job, and the number. Lanes behind the last item of the ensemble are followed as well.
#[inline(always)]
pub fn follow<R, E, M, const D: usize, const P: usize>(
    system: E::System,
    job: &Job,
    first: u64,
    mut write: impl FnMut(usize, usize, f64),
) where
    R: Scalar,
    E: Evolution<R, D, P>,
    M: Scheme<R, E>,
{
    let mut parameters = [R::of(0.0); P];
    let mut start = [R::of(0.0); D];
    let mut i = 0;
    while i < P {
        parameters[i] = R::from_lanes(|lane| job.number(i, first + lane as u64));
        i += 1;
    }
    let mut i = 0;
    while i < D {
        let number = job.parameters.len() + i;
        start[i] = R::from_lanes(|lane| job.number(number, first + lane as u64));
        i += 1;
    }
    let motion = E::new(system, parameters);
    let mut course = begin(&motion, job, start);
    let may_end = may_end::<R, E, M, D, P>(&motion);
    let mut steps = 0;
    while steps < job.steps && (!may_end || course.open.any()) {
        advance::<R, E, M, D, P>(&motion, job, R::of(steps as f64), &mut course);
        steps += 1;
    }
    let (known, numbers) = columns::<R, E, M, D, P>(course, R::of(steps as f64));
    let (mut column, mut place) = (0, 0);
    while column < known.len() + D {
        if job.columns >> column & 1 == 1 {
            let number = match known.get(column) {
                Some(number) => *number,
                None => numbers[column - known.len()],
            };
            let mut lane = 0;
            while lane < R::LANES {
                write(lane, place, canonical(number.lane(lane)));
                lane += 1;
            }
            place += 1;
        }
        column += 1;
    }
}

#[inline(always)]
fn with_fixed_step<R, E, M, const D: usize, const P: usize>(
    motion: &E,
    job: &Job,
    number: R,
    course: &mut Course<R, E::State>,
) where
    R: Scalar,
    E: Evolution<R, D, P>,
    M: Scheme<R, E>,
{
    let (t, h) = (number * job.step + job.begin, R::of(job.step));
    let (after, _) = M::step(motion, t, h, &course.state, job.tolerance);
    let after = settled::<R, E, M, D, P>(motion, &course.state, after, number * job.step, h);
    if motion.has_outcomes() {
        course.state = select(course.open, after, course.state);
        let number = number + 1.0;
        course.end(motion.outcome(&course.state), number * job.step, number);
    } else {
        course.state = after;
    }
}

#[inline(always)]
fn with_own_step<R, E, M, const D: usize, const P: usize>(
    motion: &E,
    job: &Job,
    number: R,
    course: &mut Course<R, E::State>,
) where
    R: Scalar,
    E: Evolution<R, D, P>,
    M: Scheme<R, E>,
{
    let (end, steps, t) = (R::of(job.end), number + 1.0, course.t);
    let left = end - t;
    let last = course.h.less(left).not();
    let length = R::select(last, left, course.h);
    let (after, error) = M::step(motion, t + job.begin, length, &course.state, job.tolerance);
    let accepted = R::of(1.0).less(error).not().and(error.less(R::of(2.0)));
    let after = settled::<R, E, M, D, P>(motion, &course.state, after, t, length);
    let goes = accepted.and(course.open);
    course.state = select(goes, after, course.state);
    let t = R::select(goes, R::select(last, end, t + length), t);
    course.t = t;
    course.h = length * scheme::factor(error, M::ERROR_ORDER);
    if motion.has_outcomes() {
        course.end(motion.outcome(&course.state), t, steps);
    }
    let arrived = t.less(end).not().and(course.open);
    course.end_where(arrived, R::of(0.0), end, steps);
    let stiff = course.h.less(R::of(job.end * SHORTEST)).and(course.open);
    let is_number = error.less(R::of(f64::INFINITY));
    let outcome = R::select(is_number, R::of(STIFF), R::of(NOT_FINITE));
    course.end_where(stiff, outcome, t, steps);
}

/// The first step as a share of the whole time.
const FIRST: f64 = 1e-6;

#[inline(always)]
fn settled<R, E, M, const D: usize, const P: usize>(
    motion: &E,
    before: &E::State,
    after: E::State,
    t: R,
    h: R,
) -> E::State
where
    R: Scalar,
    E: Evolution<R, D, P>,
    M: Scheme<R, E>,
{
    match M::GROWS {
        Some(place) => motion.settled(before, after, t + h * place, true),
        None => motion.settled(before, after, t, false),
    }
}

/// The number, with the same bits for all that are NaN: those of a processor depend on the order of operands, and those of a GPU do not.
#[inline(always)]
fn canonical(x: f64) -> f64 {
    if x.is_nan() { f64::NAN } else { x }
}
