//! The Ahmad–Cohen scheme (Ahmad & Cohen 1973; with Hermite correction, Makino & Aarseth 1992): the definition of neighbours. A part
//! of the force has steps of its own, for which [`correction`] gives the correction.

pub use super::correct::{Correction, correction};
use crate::Vec3;

/// Approaching bodies count as neighbours up to this multiple of the squared radius, 2^(2/3), which doubles the volume.
pub const APPROACHING_RADIUS2_FACTOR: f64 = 1.587_401_051_968_199_4;

/// Whether a body with the relative position `r` and velocity `v` is a neighbour: it is within the radius, or it approaches and is not
/// far beyond.
#[inline(always)]
pub fn is_neighbour(r: Vec3<f64>, v: Vec3<f64>, radius2: f64) -> bool {
    let r2 = r.norm2_plus(0.0);
    r2 <= radius2 || (r2 <= APPROACHING_RADIUS2_FACTOR * radius2 && r.dot(v) < 0.0)
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
}
