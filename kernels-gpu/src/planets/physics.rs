//! What systems have beside the gravity of points: the relativistic precession by the star and its oblateness, and the form of the steps.

use crate::number::{Dual, divide, root};
use crate::{Real, Vec3};

/// Forces of the star on planets, which react on it, and the form of the steps. The forces are written for any number, so that dual numbers
/// give their tangent map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Physics {
    /// 6/c² for the potential -3 (G M)² / (c² r²) per unit of mass, which has the precession of general relativity to first order, but not its
    /// mean motion (Nobili & Roxburgh 1986); or 0.
    pub relativity: f64,
    /// 3/2 J₂ R² of the star, whose axis is the third one.
    pub j2: f64,
    /// 5/8 J₄ R⁴.
    pub j4: f64,
    /// 1 if steps are drift, kick, drift; 0 if they are kick, drift, kick.
    pub drift_first: u64,
}

impl Physics {
    /// Whether it has forces.
    #[inline(always)]
    pub fn has_forces(&self) -> bool {
        self.relativity != 0.0 || self.j2 != 0.0 || self.j4 != 0.0
    }

    /// Whether it has anything.
    pub fn is_general(&self) -> bool {
        self.has_forces() || self.drift_first != 0
    }

    /// The acceleration of a planet at this place relative to the star.
    #[inline(always)]
    pub fn acceleration<T: Real>(&self, star: T, place: Vec3<T>) -> Vec3<T> {
        let c = T::from_f64;
        let r2 = place.dot(place);
        let w = r2.inv_cube();
        let root = r2 * w;
        // r⁻², and the squared sine of the latitude.
        let q = root * root;
        let s = (place.z * place.z) * q;
        let j2 = c(self.j2) * (star * (w * q));
        let j4 = c(self.j4) * ((star * (w * q)) * q);
        let general = c(self.relativity) * ((star * q) * (star * q));
        let along = c(5.0).mul_add(s, c(-1.0));
        let along4 = c(63.0).mul_add(s, c(-42.0)).mul_add(s, c(3.0));
        let across4 = c(-28.0).mul_add(s, c(12.0));
        let along = j2.mul_add(along, j4.mul_add(along4, -general));
        let across = j2.mul_add(c(-2.0), j4 * across4);
        let pulled = place.scaled(along);
        Vec3 {
            z: across.mul_add(place.z, pulled.z),
            ..pulled
        }
    }

    /// The acceleration, and its derivative along a tangent vector.
    #[inline(always)]
    pub fn with_tangent<R: Real>(&self, star: R, place: Vec3<R>, along: Vec3<R>) -> [Vec3<R>; 2] {
        let dual = |value: R, derivative: R| Dual { value, derivative };
        let place = Vec3 {
            x: dual(place.x, along.x),
            y: dual(place.y, along.y),
            z: dual(place.z, along.z),
        };
        let Vec3 { x, y, z } = self.acceleration(dual(star, R::zero()), place);
        [
            Vec3 {
                x: x.value,
                y: y.value,
                z: z.value,
            },
            Vec3 {
                x: x.derivative,
                y: y.derivative,
                z: z.derivative,
            },
        ]
    }

    /// The potential of these forces per unit of the planet's mass.
    pub fn potential(&self, star: f64, place: Vec3<f64>) -> f64 {
        let q = divide(1.0, place.dot(place));
        let w = q * root(q);
        let s = (place.z * place.z) * q;
        let general = -0.5 * self.relativity * (star * star * q);
        let j2 = divide(self.j2, 3.0) * star * w * (3.0 * s - 1.0);
        let j4 = 0.2 * self.j4 * star * (w * q) * ((35.0 * s - 30.0) * s + 3.0);
        general + j2 + j4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHYSICS: Physics = Physics {
        relativity: 0.03,
        j2: 0.02,
        j4: -0.01,
        drift_first: 0,
    };
    const PLACE: Vec3<f64> = Vec3 {
        x: 0.7,
        y: -0.5,
        z: 0.4,
    };

    /// Central differences along the axes.
    fn slopes(of: impl Fn(Vec3<f64>) -> f64) -> [f64; 3] {
        let k = 1e-5;
        let axes = [[k, 0.0, 0.0], [0.0, k, 0.0], [0.0, 0.0, k]];
        axes.map(|[x, y, z]| {
            let step = Vec3 { x, y, z };
            (of(PLACE + step) - of(PLACE - step)) / (2.0 * k)
        })
    }

    #[test]
    fn forces_are_the_slopes_of_their_potentials() {
        for physics in [
            Physics {
                j2: 0.0,
                j4: 0.0,
                ..PHYSICS
            },
            Physics {
                relativity: 0.0,
                j4: 0.0,
                ..PHYSICS
            },
            Physics {
                relativity: 0.0,
                j2: 0.0,
                ..PHYSICS
            },
        ] {
            let force = physics.acceleration(1.3, PLACE);
            let slopes = slopes(|x| physics.potential(1.3, x));
            for (found, slope) in [force.x, force.y, force.z].iter().zip(slopes) {
                assert!((found + slope).abs() < 1e-9, "{physics:?}: {found} {slope}");
            }
        }
    }

    #[test]
    fn tangents_are_the_derivatives_of_the_forces() {
        let way = Vec3 {
            x: 0.3,
            y: 0.8,
            z: -0.6,
        };
        let [force, tangent] = PHYSICS.with_tangent(1.3, PLACE, way);
        assert_eq!(force, PHYSICS.acceleration(1.3, PLACE));
        let k = 1e-5;
        let at = |k: f64| PHYSICS.acceleration(1.3, PLACE.add_scaled(k, way));
        let off = tangent - (at(k) - at(-k)).scaled(0.5 / k);
        assert!(off.dot(off).sqrt() < 1e-9, "{off:?}");
    }
}
