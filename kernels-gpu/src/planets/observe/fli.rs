//! The fast Lyapunov indicator: the greatest logarithm of the tangent vector's length so far, relative to that at the start (Froeschlé, Lega &
//! Gonczi 1997).

use super::{Observation, Observe, WORDS, greater};
use crate::number::Bits;
use crate::planets::System;

pub(super) struct Fli;

impl Observe for Fli {
    fn begin<const N: usize>(system: &System<f64, N>, _: usize, _: &Observation) -> [f64; WORDS] {
        [system.course.now; WORDS]
    }

    #[inline(always)]
    fn note<R: Bits<Alone = f64>, const N: usize>(
        words: &mut [R; WORDS],
        system: &System<R, N>,
        _: usize,
        _: &Observation,
    ) {
        words[0] = greater(words[0], system.course.now);
    }

    fn end<const N: usize>(words: &[f64; WORDS], system: &System<f64, N>) -> [f64; 2] {
        [words[0] - system.course.start, f64::NAN]
    }

    #[inline(always)]
    fn level<R: Bits<Alone = f64>, const N: usize>(words: &[R; WORDS], system: &System<R, N>) -> R {
        words[0] - system.course.start
    }
}
