//! The Ahmad–Cohen scheme (Ahmad & Cohen 1973; with Hermite correction, Makino & Aarseth 1992): the definition of neighbours, the
//! choice of their radius, and the steps of the two parts of a force. Each part has steps of its own, for which [`correction`] gives
//! the correction.

pub use super::correct::{Correction, correction};
use super::step::{Accuracy, Limits, criterion, is_abrupt, is_finite, is_noise, power, quantised};
use super::{TERMS, Taylor};
use crate::Vec3;
use crate::number::sqrt;

/// Approaching bodies count as neighbours up to this multiple of the squared radius, 2^(2/3), which doubles the volume.
pub const APPROACHING_RADIUS2_FACTOR: f64 = 1.587_401_051_968_199_4;

/// Largest number of radii that are tried for a list; if the last one does not fit either, the list is left empty.
pub const MAX_TRIES: u32 = 64;

/// Largest change of a radius between two lists.
pub const MAX_RADIUS_CHANGE: f64 = 1.25;

/// Whether a body with the relative position `r` and velocity `v` is a neighbour: it is within the radius, or it approaches and is not
/// far beyond.
#[inline(always)]
pub fn is_neighbour(r: Vec3<f64>, v: Vec3<f64>, radius2: f64) -> bool {
    let r2 = r.norm2_plus(0.0);
    r2 <= radius2 || (r2 <= APPROACHING_RADIUS2_FACTOR * radius2 && r.dot(v) < 0.0)
}

/// The softened square of a distance, in any precision, up to which a body may be a neighbour of one at `position`. Rounding does not
/// take any neighbour beyond it.
#[inline(always)]
pub fn may_be_neighbour_up_to(position: Vec3<f64>, radius: f64, softening2: f64) -> f64 {
    /// Above the relative error of a square in `f32`.
    const RELATIVE: f64 = 1e-5;
    /// Above the error of a difference of sums of two `f32`, relative to the numbers.
    const OF_POSITION: f64 = 1e-12;
    let far = position.x.abs().max(position.y.abs()).max(position.z.abs());
    let reach = radius * sqrt(APPROACHING_RADIUS2_FACTOR) + OF_POSITION * far;
    (reach * reach + softening2) * (1.0 + RELATIVE) + f32::MIN_POSITIVE as f64
}

/// The factor by which a radius with `found` neighbours should change to have as many as `wanted`.
#[inline(always)]
pub fn radius_change(wanted: u32, found: u32) -> f64 {
    libm::cbrt(wanted as f64 / found.max(1) as f64)
}

/// The radius to try first for the list after one with `found` neighbours.
#[inline(always)]
pub fn next_radius(radius: f64, wanted: u32, found: u32) -> f64 {
    radius * radius_change(wanted, found).clamp(1.0 / MAX_RADIUS_CHANGE, MAX_RADIUS_CHANGE)
}

/// An acceleration and its derivative, the jerk.
pub type Force = [Vec3<f64>; 2];

/// The force by all bodies except the neighbours. If all bodies are neighbours, it is exactly 0 instead of the rounding errors of two
/// sums.
#[inline(always)]
pub fn without_neighbours(all: Force, irregular: Force, all_are_neighbours: bool) -> Force {
    if all_are_neighbours {
        return [Vec3::zero(); 2];
    }
    [all[0] - irregular[0], all[1] - irregular[1]]
}

/// The regular force on a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regular {
    /// The force at `time`.
    pub force: Force,
    /// The time at which it was summed.
    pub time: f64,
    /// The step after which it is summed again.
    pub step: f64,
}

impl Regular {
    /// Whether its step ends at `time`.
    #[inline(always)]
    pub fn is_due(&self, time: f64) -> bool {
        self.time + self.step <= time
    }

    /// The force at a later time, extrapolated linearly.
    #[inline(always)]
    fn at(&self, time: f64) -> Force {
        let since = time - self.time;
        let [acceleration, jerk] = self.force;
        [acceleration.add_scaled(since, jerk), jerk]
    }
}

/// A polynomial with these derivatives of a part of the acceleration, for the criterion.
#[inline(always)]
fn derivatives(force: Force, c: &Correction<f64>) -> Taylor<f64> {
    let mut x = [Vec3::zero(); TERMS];
    x[2] = force[0];
    x[3] = force[1];
    x[4] = c.snap;
    x[5] = c.crackle;
    x
}

/// The end of a step of the irregular force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IrregularStep {
    /// Position, velocity, acceleration and jerk.
    pub motion: [Vec3<f64>; 4],
    /// The next step.
    pub step: f64,
    /// Whether position, velocity and acceleration are finite numbers.
    pub finite: bool,
    /// Whether the step was at least 8 times too long.
    pub abrupt: bool,
    /// Whether the next step should be shorter than the shortest.
    pub clamped: bool,
}

/// Corrects a body for the change of its irregular force from `start` to `end` over a step of length `dt` to `time`. `predicted` are
/// its position and velocity at the end. If the step of the `regular` force ends at the same time, [`regular_step`] has to follow.
#[inline(always)]
pub fn irregular_step(
    predicted: [Vec3<f64>; 2],
    [start, end]: [Force; 2],
    regular: &Regular,
    dt: f64,
    time: f64,
    eta: f64,
    limits: &Limits,
) -> IrregularStep {
    let c = correction(start, end, dt, 1.0 / dt);
    let rest = regular.at(time);
    let motion = [
        predicted[0] + c.position,
        predicted[1] + c.velocity,
        end[0] + rest[0],
        end[1] + rest[1],
    ];
    let allowed = criterion(4, &derivatives(end, &c), eta);
    let step = quantised(allowed, limits.longest, limits.shortest);
    IrregularStep {
        motion,
        step: if regular.is_due(time) {
            step
        } else {
            step.min(regular.step)
        },
        finite: is_finite(&motion),
        abrupt: is_abrupt(allowed, dt),
        clamped: power(step, allowed.exponent) > allowed.value,
    }
}

/// The end of a step of the regular force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegularStep {
    /// Position, velocity, acceleration and jerk.
    pub motion: [Vec3<f64>; 4],
    /// The next step of the regular force.
    pub step: f64,
}

/// Corrects a body, which has been corrected for the change of its irregular force to `corrected`, for the change of its regular force
/// from `start` to `end` over a step of length `dt`. `all` is the whole force at the end.
///
/// If the neighbours exert nearly all of the force, the rest consists of rounding errors of their sums, of which the criterion must not
/// make short steps.
#[inline(always)]
pub fn regular_step(
    corrected: [Vec3<f64>; 2],
    [start, end]: [Force; 2],
    all: Force,
    dt: f64,
    accuracy: &Accuracy,
    limits: &Limits,
) -> RegularStep {
    let c = correction(start, end, dt, 1.0 / dt);
    let x = derivatives(end, &c);
    let allowed = criterion(4, &x, accuracy.eta);
    let mut step = quantised(allowed, limits.longest, limits.shortest);
    let doubled = (2.0 * dt).min(limits.longest);
    let scale = sqrt(all[0].norm2_plus(0.0));
    if step < doubled && is_noise(4, &x, dt, scale, accuracy.epsilon) {
        step = doubled;
    }
    RegularStep {
        motion: [
            corrected[0] + c.position,
            corrected[1] + c.velocity,
            all[0],
            all[1],
        ],
        step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along_x(x: f64) -> Vec3<f64> {
        Vec3 { x, y: 0.0, z: 0.0 }
    }

    #[test]
    fn a_cubic_acceleration_is_integrated_exactly() {
        // a(t) = 1 + 2 t + 3 t² + 4 t³ over [0, 2].
        let (start, end) = (
            [along_x(1.0), along_x(2.0)],
            [along_x(1.0 + 4.0 + 12.0 + 32.0), along_x(2.0 + 12.0 + 48.0)],
        );
        let c = correction(start, end, 2.0, 0.5);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        // The integrals of 3 t² + 4 t³, once and twice.
        near(c.velocity.x, 8.0 + 16.0);
        near(c.position.x, 4.0 + 32.0 / 5.0);
        near(c.snap.x, 6.0 + 48.0);
        near(c.crackle.x, 24.0);
    }

    #[test]
    fn a_body_outside_is_a_neighbour_only_if_it_approaches() {
        let away = along_x(1.0);
        assert!(is_neighbour(along_x(0.9), away, 1.0));
        assert!(!is_neighbour(along_x(1.1), away, 1.0));
        assert!(is_neighbour(along_x(1.1), along_x(-1.0), 1.0));
        assert!(!is_neighbour(along_x(1.3), along_x(-1.0), 1.0));
    }

    #[test]
    fn a_smaller_radius_only_removes_neighbours() {
        let (r, v) = (along_x(1.2), along_x(-1.0));
        for radius2 in [0.5, 0.9, 0.92, 1.0, 1.4, 1.5, 2.0] {
            let near = |radius2: f64| is_neighbour(r, v, radius2);
            assert!(near(radius2) || !near(0.99 * radius2));
            let limit = may_be_neighbour_up_to(along_x(9.0), sqrt(radius2), 0.25);
            assert!(r.norm2_plus(0.25) <= limit || !near(radius2));
        }
    }

    #[test]
    fn a_radius_follows_the_number_of_neighbours_within_limits() {
        assert_eq!(next_radius(2.0, 20, 20), 2.0);
        assert_eq!(next_radius(2.0, 20, 0), 2.0 * MAX_RADIUS_CHANGE);
        assert_eq!(next_radius(2.0, 1, 4096), 2.0 / MAX_RADIUS_CHANGE);
        assert!((radius_change(8, 64) - 0.5).abs() < 1e-15);
    }
}
