//! Items from their start to their end.

use crate::evolution::{Evolution, select};
use crate::job::{Column, NOT_FINITE, SHORTEST, STIFF};
use crate::scheme::{self, Scheme};
use crate::{Job, Mask as _, Scalar};

/// What is known of items while they are followed, in all lanes.
struct Items<R: Scalar> {
    open: R::Mask,
    outcome: R,
    /// The time of the outcome, or of the end.
    time: R,
    steps: R,
}

impl<R: Scalar> Items<R> {
    /// Ends the open items that have an outcome.
    #[inline(always)]
    fn end(&mut self, outcome: R, time: R, steps: u64) {
        let ends = self.open.and(outcome.less(R::of(0.5)).not());
        self.end_where(ends, outcome, time, steps);
    }

    #[inline(always)]
    fn end_where(&mut self, ends: R::Mask, outcome: R, time: R, steps: u64) {
        self.outcome = R::select(ends, outcome, self.outcome);
        self.time = R::select(ends, time, self.time);
        self.steps = R::select(ends, R::of(steps as f64), self.steps);
        self.open = self.open.and(ends.not());
    }
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
        let law = &job.parameters[i];
        parameters[i] =
            R::from_lanes(|lane| law.value(job.seed, job.size, i as u32, first + lane as u64));
        i += 1;
    }
    let mut i = 0;
    while i < D {
        let law = &job.start[i];
        let number = (job.parameters.len() + i) as u32;
        start[i] = R::from_lanes(|lane| law.value(job.seed, job.size, number, first + lane as u64));
        i += 1;
    }
    let motion = E::new(system, parameters);
    let begun = motion.begin(start);
    let mut items = Items {
        open: R::Mask::all_are(true),
        outcome: R::of(0.0),
        time: R::of(job.end),
        steps: R::of(job.steps as f64),
    };
    if motion.has_outcomes() {
        items.end(motion.outcome(&begun), R::of(0.0), 0);
    }
    let state = if M::ERROR_ORDER == 0 {
        with_fixed_steps::<R, E, M, D, P>(&motion, job, &mut items, begun)
    } else {
        with_own_steps::<R, E, M, D, P>(&motion, job, &mut items, begun)
    };
    let numbers = E::numbers(&state);
    // 0 times a number that is not finite is no number.
    let mut sum = numbers[0] * 0.0;
    let mut i = 1;
    while i < D {
        sum = sum + numbers[i] * 0.0;
        i += 1;
    }
    let finite = sum.abs().less(R::of(1.0));
    items.outcome = R::select(finite, items.outcome, R::of(NOT_FINITE));
    let [l, w] = E::growth(&state);
    let known = [
        items.outcome,
        items.time,
        items.steps,
        l / items.time,
        w * 2.0 / items.time,
    ];
    let (mut column, mut place) = (0, 0);
    while column < known.len() + D {
        if job.columns >> column & 1 == 1 {
            let number = match known.get(column) {
                Some(number) => *number,
                None => numbers[column - Column::STATE.0 as usize],
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
fn with_fixed_steps<R, E, M, const D: usize, const P: usize>(
    motion: &E,
    job: &Job,
    items: &mut Items<R>,
    mut state: E::State,
) -> E::State
where
    R: Scalar,
    E: Evolution<R, D, P>,
    M: Scheme<R, E>,
{
    let ends = motion.has_outcomes();
    let h = R::of(job.step);
    let mut step = 0;
    while step < job.steps && (!ends || items.open.any()) {
        let t = R::of(step as f64 * job.step);
        let (after, _) = M::step(motion, t, h, &state, job.tolerance);
        let after = settled::<R, E, M, D, P>(motion, &state, after, t, h);
        state = if ends {
            select(items.open, after, state)
        } else {
            after
        };
        step += 1;
        if ends {
            let t = R::of(step as f64 * job.step);
            items.end(motion.outcome(&state), t, step);
        }
    }
    state
}

#[inline(always)]
fn with_own_steps<R, E, M, const D: usize, const P: usize>(
    motion: &E,
    job: &Job,
    items: &mut Items<R>,
    mut state: E::State,
) -> E::State
where
    R: Scalar,
    E: Evolution<R, D, P>,
    M: Scheme<R, E>,
{
    let end = R::of(job.end);
    let shortest = R::of(job.end * SHORTEST);
    let mut t = R::of(0.0);
    // The first step is short; its error says how long the next one may be.
    let mut h = R::of(job.end * FIRST);
    let mut step = 0;
    while step < job.steps && items.open.any() {
        let left = end - t;
        let last = h.less(left).not();
        let length = R::select(last, left, h);
        let (after, error) = M::step(motion, t, length, &state, job.tolerance);
        let accepted = R::of(1.0).less(error).not().and(error.less(R::of(2.0)));
        let after = settled::<R, E, M, D, P>(motion, &state, after, t, length);
        let goes = accepted.and(items.open);
        state = select(goes, after, state);
        t = R::select(goes, R::select(last, end, t + length), t);
        h = length * scheme::factor(error, M::ERROR_ORDER);
        step += 1;
        if motion.has_outcomes() {
            items.end(motion.outcome(&state), t, step);
        }
        let arrived = t.less(end).not().and(items.open);
        items.end_where(arrived, R::of(0.0), end, step);
        let stiff = h.less(shortest).and(items.open);
        let is_number = error.less(R::of(f64::INFINITY));
        let outcome = R::select(is_number, R::of(STIFF), R::of(NOT_FINITE));
        items.end_where(stiff, outcome, t, step);
    }
    items.end_where(items.open, R::of(STIFF), t, step);
    state
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
