//! The mean motion of a planet in each half of the time: the mean of the rate of its mean longitude with the weight u³ (1 - u)³, where u goes
//! from 0 to 1 in each half. The weight vanishes at the ends with two derivatives, so that terms of short periods p in the longitude leave an
//! error that falls as (p / T)⁴. The change from one half to the other measures diffusion, as in the analysis of frequency maps (Laskar 1990).

use core::f64::consts::TAU;

use super::orbit::wrapped;
use super::{Observation, Observe, WORDS, observed};
use crate::number::{Bits, divide, root};
use crate::planets::System;

/// Longitude and steps taken after the last step, the sums of weighted changes of the longitude and of weights in the first half and in the second
/// one, the turns of a step with the mean motion at the start, to which the changes are relative, and 1 / the number of all steps.
pub(super) struct Frequency;

impl Observe for Frequency {
    fn begin<const N: usize>(
        system: &System<f64, N>,
        count: usize,
        of: &Observation,
    ) -> [f64; WORDS] {
        let orbit = observed(system, count, of);
        let [mean, ..] = orbit.longitudes();
        let a = divide(1.0, orbit.inverse_a);
        let period = TAU * root(a * a * a * orbit.inverse_mass);
        let step = divide(system.course.h, period);
        let share = divide(1.0, system.course.steps);
        [mean, 0.0, 0.0, 0.0, 0.0, 0.0, step, share]
    }

    #[inline(always)]
    fn note<R: Bits<Alone = f64>, const N: usize>(
        words: &mut [R; WORDS],
        system: &System<R, N>,
        count: usize,
        of: &Observation,
    ) {
        let c = R::from_f64;
        let [
            before,
            taken,
            first,
            first_weight,
            second,
            second_weight,
            step,
            share,
        ] = *words;
        let [now, ..] = observed(system, count, of).longitudes();
        let steps = system.course.taken - taken;
        let change = wrapped((-step).mul_add(steps, now - before));
        // From 0 to 2 over both halves, in the middle of the step.
        let at = (system.course.taken + taken) * share;
        let is_first = at.at_most(c(1.0));
        let u = R::select(is_first, at, at - c(1.0));
        let bump = u * (c(1.0) - u);
        let weight = bump * (bump * bump);
        let (change, weight) = (weight * change, weight * steps);
        let none = R::zero();
        *words = [
            now,
            system.course.taken,
            first + R::select(is_first, change, none),
            first_weight + R::select(is_first, weight, none),
            second + R::select(is_first, none, change),
            second_weight + R::select(is_first, none, weight),
            step,
            share,
        ];
    }

    fn end<const N: usize>(words: &[f64; WORDS], system: &System<f64, N>) -> [f64; 2] {
        let [_, _, first, first_weight, second, second_weight, step, _] = *words;
        let [first, second] = [divide(first, first_weight), divide(second, second_weight)];
        let frequency = step + first;
        [
            divide(TAU * frequency, system.course.h),
            divide(second - first, frequency),
        ]
    }
}
