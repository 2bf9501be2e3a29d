//! The Ahmad–Cohen scheme (Ahmad & Cohen 1973; with Hermite correction Makino & Aarseth 1992): who is a neighbour, and
//! the correction of a part of the force over a step of its own.

use crate::{Real, Vec3};

/// Bodies that come nearer count as neighbours up to this multiple of the squared radius, 2^(2/3): twice the volume.
pub const APPROACHING: f64 = 1.587_401_051_968_199_4;

/// Whether a body at `r` that moves with `v`, both as seen from another, is its neighbour: within the radius, or
/// approaching and not far beyond.
#[inline(always)]
pub fn is_neighbour(r: Vec3<f64>, v: Vec3<f64>, radius2: f64) -> bool {
    let r2 = r.norm2_plus(0.0);
    r2 <= radius2 || (r2 <= APPROACHING * radius2 && r.dot(v) < 0.0)
}

/// What a part of the acceleration adds to a motion that was predicted with it and its first derivative at the start
/// of a step, and its higher derivatives at the end.
#[derive(Clone, Copy, Debug)]
pub struct Correction<R> {
    /// To be added to the position.
    pub position: Vec3<R>,
    /// To be added to the velocity.
    pub velocity: Vec3<R>,
    /// Second derivative of the part.
    pub snap: Vec3<R>,
    /// Third derivative of the part.
    pub crackle: Vec3<R>,
}

/// The correction that follows from the cubic through a part of the acceleration and its first derivative at both ends
/// of a step of length `dt` = 1 / `inv_dt`.
#[inline(always)]
pub fn correction<R: Real>(
    start: [Vec3<R>; 2],
    end: [Vec3<R>; 2],
    dt: R,
    inv_dt: R,
) -> Correction<R> {
    let c = R::from_f64;
    let difference = end[0] - start[0];
    let (j0, j1) = (start[1].scaled(dt), end[1].scaled(dt));
    // Derivatives at the start, times dt² and dt³.
    let second = difference
        .scaled(c(6.0))
        .add_scaled(c(-4.0), j0)
        .add_scaled(c(-2.0), j1);
    let third = (j0 + j1).scaled(c(6.0)).add_scaled(c(-12.0), difference);
    let inv2 = inv_dt * inv_dt;
    Correction {
        position: second
            .scaled(c(1.0 / 24.0))
            .add_scaled(c(1.0 / 120.0), third)
            .scaled(dt * dt),
        velocity: second
            .scaled(c(1.0 / 6.0))
            .add_scaled(c(1.0 / 24.0), third)
            .scaled(dt),
        snap: (second + third).scaled(inv2),
        crackle: third.scaled(inv2 * inv_dt),
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
        // Integrals of 3 t² + 4 t³, once and twice.
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
}
