//! The extremes of semi-major axis, eccentricity and inclination of a planet about the star and the planets further in.

use core::f64::consts::{PI, TAU};

use super::orbit::{Orbit, divisor, turns};
use super::{Observation, Observe, WORDS, greater, lesser, observed};
use crate::number::{Bits, divide, root};
use crate::planets::System;

/// A number that grows or falls with an element, and takes no transcendental function to compute.
trait Element {
    fn of<R: Bits>(orbit: &Orbit<R>) -> R;
    /// The least and the greatest element for those of the number.
    fn range(words: [f64; 2]) -> [f64; 2];
    /// What grows with the value that can end systems, and the same of such a value: here with the greatest number.
    #[inline(always)]
    fn level<R: Bits>([_, most]: [R; 2]) -> R {
        most
    }
    fn level_of(value: f64) -> f64;
}

impl<E: Element> Observe for E {
    fn begin<const N: usize>(
        system: &System<f64, N>,
        count: usize,
        of: &Observation,
    ) -> [f64; WORDS] {
        let mut words = [0.0; WORDS];
        (words[0], words[1]) = (f64::INFINITY, f64::NEG_INFINITY);
        Self::note(&mut words, system, count, of);
        words
    }

    #[inline(always)]
    fn note<R: Bits<Alone = f64>, const N: usize>(
        words: &mut [R; WORDS],
        system: &System<R, N>,
        count: usize,
        of: &Observation,
    ) {
        let x = E::of(&observed(system, count, of));
        words[0] = lesser(words[0], x);
        words[1] = greater(words[1], x);
    }

    fn end<const N: usize>(words: &[f64; WORDS], _: &System<f64, N>) -> [f64; 2] {
        Self::range([words[0], words[1]])
    }

    #[inline(always)]
    fn level<R: Bits<Alone = f64>, const N: usize>(words: &[R; WORDS], _: &System<R, N>) -> R {
        E::level([words[0], words[1]])
    }

    fn level_of(value: f64) -> f64 {
        E::level_of(value)
    }
}

/// By its reciprocal.
pub(super) struct SemiMajorAxis;

impl Element for SemiMajorAxis {
    #[inline(always)]
    fn of<R: Bits>(orbit: &Orbit<R>) -> R {
        orbit.inverse_a
    }

    fn range([least, greatest]: [f64; 2]) -> [f64; 2] {
        // An orbit that was unbound for a moment has no greatest one.
        let a = |x: f64| if x > 0.0 { divide(1.0, x) } else { f64::NAN };
        [a(greatest), a(least)]
    }

    /// The range; that of an orbit that was unbound is beyond all limits.
    #[inline(always)]
    fn level<R: Bits>([least, most]: [R; 2]) -> R {
        let one = R::from_f64(1.0);
        divisor(least).divides(one) - divisor(most).divides(one)
    }

    fn level_of(value: f64) -> f64 {
        value
    }
}

/// By its square.
pub(super) struct Eccentricity;

impl Element for Eccentricity {
    #[inline(always)]
    fn of<R: Bits>(orbit: &Orbit<R>) -> R {
        orbit.eccentricity.dot(orbit.eccentricity)
    }

    fn range(squares: [f64; 2]) -> [f64; 2] {
        squares.map(root)
    }

    fn level_of(value: f64) -> f64 {
        value * value
    }
}

/// By sin² i up to a right angle, and 2 - sin² i beyond it.
pub(super) struct Inclination;

impl Element for Inclination {
    #[inline(always)]
    fn of<R: Bits>(orbit: &Orbit<R>) -> R {
        let m = orbit.momentum;
        let in_plane = m.x.mul_add(m.x, m.y * m.y);
        let square = divisor(in_plane + m.z * m.z).divides(in_plane);
        let retrograde = R::from_f64(2.0) - square;
        R::select(R::zero().at_most(m.z), square, retrograde)
    }

    fn range(squares: [f64; 2]) -> [f64; 2] {
        squares.map(|x| {
            let angle = |square: f64| TAU * turns(root(1.0 - square), root(square));
            if x <= 1.0 {
                angle(x)
            } else {
                PI - angle(2.0 - x)
            }
        })
    }

    fn level_of(value: f64) -> f64 {
        let square = libm::sin(value) * libm::sin(value);
        if value <= 0.5 * PI {
            square
        } else {
            2.0 - square
        }
    }
}
