//! Centre and amplitude of an angle of longitudes: half the range over which it moves, by the smaller way from step to step. An angle that has
//! passed through a whole turn circulates.

use core::f64::consts::{PI, TAU};

use super::orbit::{Orbit, wrapped};
use super::{Observation, Observe, WORDS, greater, lesser};
use crate::number::{Bits, divide};
use crate::planets::system::{FEW, MANY, SOME, each_planet};
use crate::planets::{MAX_PLANETS, System};

/// The angle (turns).
#[inline(always)]
fn angle<R: Bits<Alone = f64>, const N: usize>(
    system: &System<R, N>,
    count: usize,
    of: &Observation,
) -> R {
    let mut sum = R::zero();
    each_planet!(count, 0, |i| {
        let often = of.angle[i];
        if often != [0.0; 3] {
            let orbit = Orbit::of(system.planets[i].inner, &system.states[i]);
            let [mean, pericentre, node] = orbit.longitudes();
            let [of_mean, of_pericentre, of_node] = often;
            sum = R::from_f64(of_mean).mul_add(mean, sum);
            sum = R::from_f64(of_pericentre).mul_add(pericentre, sum);
            sum = R::from_f64(of_node).mul_add(node, sum);
        }
    });
    sum
}

/// The angle after the last step, without whole turns and with those that it has passed, and the extremes of the latter.
pub(super) struct Libration;

impl Observe for Libration {
    fn begin<const N: usize>(
        system: &System<f64, N>,
        count: usize,
        of: &Observation,
    ) -> [f64; WORDS] {
        [wrapped(angle(system, count, of)); WORDS]
    }

    #[inline(always)]
    fn note<R: Bits<Alone = f64>, const N: usize>(
        words: &mut [R; WORDS],
        system: &System<R, N>,
        count: usize,
        of: &Observation,
    ) {
        let now = wrapped(angle(system, count, of));
        let [before, passed, least, most, ..] = *words;
        let passed = passed + wrapped(now - before);
        (words[0], words[1]) = (now, passed);
        (words[2], words[3]) = (lesser(least, passed), greater(most, passed));
    }

    fn end<const N: usize>(words: &[f64; WORDS], _: &System<f64, N>) -> [f64; 2] {
        let [_, _, least, most, ..] = *words;
        if most - least >= 1.0 {
            return [f64::NAN, PI];
        }
        let centre = wrapped(0.5 * (least + most));
        let centre = if centre < 0.0 { centre + 1.0 } else { centre };
        [TAU * centre, PI * (most - least)]
    }

    #[inline(always)]
    fn level<R: Bits<Alone = f64>, const N: usize>(words: &[R; WORDS], _: &System<R, N>) -> R {
        words[3] - words[2]
    }

    fn level_of(value: f64) -> f64 {
        divide(value, PI)
    }
}
