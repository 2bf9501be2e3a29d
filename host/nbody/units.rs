//! Units in which the numbers of a problem suit `f32`: powers of two, so that they change no bit of a result.

use trisolar_bodies::{Bodies, median};

/// A unit of length and one of time, in those of the problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Units {
    pub length: f64,
    pub time: f64,
}

/// The range of distances, in these units, whose r⁻³ are ordinary numbers in `f32`.
pub(super) const FARTHEST: f64 = 1e12;

/// The power of two at or below a positive number; 1 for others.
fn power_of_two(x: f64) -> f64 {
    match x > 0.0 && x.is_normal() {
        true => f64::from_bits(x.to_bits() & (0x7ff << 52)),
        false => 1.0,
    }
}

impl Units {
    /// The usual distance of a body from the middle, or the softening length if it is larger, and the time in which bodies move that far.
    pub fn of(bodies: &Bodies, g: f64, softening: f64) -> Self {
        let middle = bodies.middle();
        let usual = median(bodies.position.iter().map(|x| x.distance(middle)).collect());
        let length = power_of_two(usual.max(softening));
        let heaviest = bodies.mass.iter().copied().fold(0.0, f64::max) * g.abs();
        let fastest = (bodies.velocity.iter().map(|v| v.length())).fold(0.0, f64::max);
        let time = match heaviest > 0.0 {
            true => length * (length / heaviest).sqrt(),
            false => length / fastest,
        };
        let time = power_of_two(time);
        Self { length, time }
    }

    /// A gravitational constant in these units.
    pub fn g(&self, g: f64) -> f64 {
        let Self { length, time } = *self;
        g * (time / length) * (time / length) / length
    }
}
