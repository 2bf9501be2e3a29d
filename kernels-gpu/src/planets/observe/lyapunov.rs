//! The Lyapunov exponent: the growth of the logarithm of the tangent vector's length, divided by the time.

use super::{Observation, Observe, WORDS};
use crate::number::Bits;
use crate::planets::System;

pub(super) struct Lyapunov;

impl Observe for Lyapunov {
    fn begin<const N: usize>(_: &System<f64, N>, _: usize, _: &Observation) -> [f64; WORDS] {
        [0.0; WORDS]
    }

    #[inline(always)]
    fn note<R: Bits<Alone = f64>, const N: usize>(
        _: &mut [R; WORDS],
        _: &System<R, N>,
        _: usize,
        _: &Observation,
    ) {
    }

    fn end<const N: usize>(_: &[f64; WORDS], _: &System<f64, N>) -> [f64; 2] {
        [f64::NAN; 2]
    }

    #[inline(always)]
    fn level<R: Bits<Alone = f64>, const N: usize>(_: &[R; WORDS], system: &System<R, N>) -> R {
        let course = &system.course;
        (course.taken * course.h).divides(course.now - course.start)
    }
}
