//! The least distance of two planets after a step.

use super::{Observation, Observe, WORDS, lesser};
use crate::Vec3;
use crate::number::{Bits, root};
use crate::planets::system::{FEW, MANY, SOME, each_planet};
use crate::planets::{MAX_PLANETS, System};

pub(super) struct Closest;

impl Observe for Closest {
    fn begin<const N: usize>(
        system: &System<f64, N>,
        count: usize,
        of: &Observation,
    ) -> [f64; WORDS] {
        let mut words = [f64::INFINITY; WORDS];
        Self::note(&mut words, system, count, of);
        words
    }

    #[inline(always)]
    fn note<R: Bits<Alone = f64>, const N: usize>(
        words: &mut [R; WORDS],
        system: &System<R, N>,
        count: usize,
        _: &Observation,
    ) {
        let (mut places, mut centre) = ([Vec3::zero(); N], Vec3::zero());
        each_planet!(count, 0, |j| {
            places[j] = system.states[j].x + centre;
            centre = centre.add_scaled(system.planets[j].share, system.states[j].x);
            each_planet!(before j, |i| {
                let d = places[j] - places[i];
                words[0] = lesser(words[0], d.dot(d));
            });
        });
    }

    fn end<const N: usize>(words: &[f64; WORDS], _: &System<f64, N>) -> [f64; 2] {
        [root(words[0]), f64::NAN]
    }
}
