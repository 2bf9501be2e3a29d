//! Kepler orbits.

use core::f64::consts::PI;

use crate::number::{divide, root};

/// The eccentric anomaly E of a mean anomaly M in [-π, π], with E - e sin E = M and 0 <= e < 1, without iteration: the cubic and the
/// fifth-order correction of Markley (1995).
#[cfg_attr(target_arch = "nvptx64", inline(never))]
pub fn eccentric_anomaly(mean: f64, e: f64) -> f64 {
    let m = mean.abs();
    let alpha = (3.0 * PI * PI + divide(1.6 * PI * (PI - m), 1.0 + e)) * (1.0 / (PI * PI - 6.0));
    let d = 3.0 * (1.0 - e) + alpha * e;
    let q = 2.0 * alpha * d * (1.0 - e) - m * m;
    let r = 3.0 * alpha * d * (d - 1.0 + e) * m + m * m * m;
    let c = libm::cbrt(r + root(q * q * q + r * r));
    let w = c * c;
    let first = divide(divide(2.0 * r * w, w * w + w * q + q * q) + m, d);
    let (s, c) = libm::sincos(first);
    let (f2, f3) = (e * s, e * c);
    let f0 = first - f2 - m;
    let f1 = 1.0 - f3;
    let d3 = divide(-f0, f1 - 0.5 * divide(f0 * f2, f1));
    let d4 = divide(-f0, f1 + 0.5 * d3 * f2 + d3 * d3 * f3 * (1.0 / 6.0));
    let fourth = d4 * d4 * d4 * f2 * (1.0 / 24.0);
    let d5 = divide(
        -f0,
        f1 + 0.5 * d4 * f2 + d4 * d4 * f3 * (1.0 / 6.0) - fourth,
    );
    let anomaly = first + d5;
    if mean < 0.0 { -anomaly } else { anomaly }
}

/// The relative orbit of two bodies, of any energy, with G = 1.
#[derive(Clone, Copy, Debug)]
pub struct Orbit {
    /// Distance of the pericentre.
    pub pericentre: f64,
    /// Semi-latus rectum.
    pub parameter: f64,
    /// 1/a, negative for a hyperbola.
    pub inverse_axis: f64,
    /// Eccentricity.
    pub e: f64,
    /// Total mass of both bodies.
    pub mass: f64,
}

impl Orbit {
    /// The orbit for 1/a, the square of the specific angular momentum, and the total mass of both bodies.
    #[inline]
    pub fn new(inverse_axis: f64, momentum2: f64, mass: f64) -> Self {
        let parameter = divide(momentum2, mass);
        let e2 = 1.0 - parameter * inverse_axis;
        let e = if e2 > 0.0 { root(e2) } else { 0.0 };
        Self {
            pericentre: divide(parameter, 1.0 + e),
            parameter,
            inverse_axis,
            e,
            mass,
        }
    }

    /// The time since the pericentre at the distance `r`, where `rv` is the scalar product of position and velocity.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn since_pericentre(&self, r: f64, rv: f64) -> f64 {
        let z = self.inverse_axis * r;
        let z = if z.abs() < 1e-12 { 1e-12 } else { z };
        let inverse_axis = divide(z, r);
        let a = inverse_axis.abs();
        let sine = rv * root(divide(a, self.mass));
        // The eccentric anomaly x (or its hyperbolic counterpart), its sine, and the difference of the two, which a series gives for
        // small x.
        let (x, sine) = if z > 0.0 {
            let x = libm::atan2(sine, 1.0 - z);
            (x, if x.abs() < 0.5 { 0.0 } else { libm::sin(x) })
        } else {
            // e cosh x = 1 - z and e sinh x = sine, from which e follows.
            let s = divide(sine, root((1.0 - z) * (1.0 - z) - sine * sine));
            let x = libm::log1p(s.abs() + divide(s * s, 1.0 + root(1.0 + s * s)));
            (if s < 0.0 { -x } else { x }, s)
        };
        let (difference, sine) = if x.abs() < 0.5 {
            let y = if z > 0.0 { x * x } else { -(x * x) };
            let series = 1.0 - y * (1.0 / 110.0) * (1.0 - y * (1.0 / 156.0));
            let series = 1.0 - y * (1.0 / 42.0) * (1.0 - y * (1.0 / 72.0) * series);
            let difference = x * (x * x) * (1.0 / 6.0) * (1.0 - y * (1.0 / 20.0) * series);
            let sine = if z > 0.0 {
                x - difference
            } else {
                x + difference
            };
            (difference, sine)
        } else if z > 0.0 {
            (x - sine, sine)
        } else {
            (sine - x, sine)
        };
        divide(
            difference + self.pericentre * a * sine,
            a * root(a * self.mass),
        )
    }

    /// The scalar product of position and velocity at a distance on the way out, or 0 if the orbit does not reach that distance.
    pub fn outwards(&self, r: f64) -> f64 {
        let square = self.mass * (2.0 * r - self.inverse_axis * (r * r) - self.parameter);
        if square > 0.0 { root(square) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keplers_equation_holds() {
        for e in [0.0, 1e-3, 0.5, 0.9, 0.999, 0.999_999] {
            for k in -50..=50 {
                let m = PI * f64::from(k) / 50.0;
                let x = eccentric_anomaly(m, e);
                assert!((x - e * x.sin() - m).abs() < 1e-14, "{e} {m}");
            }
        }
    }

    #[test]
    fn times_follow_from_the_anomaly() {
        for (e, x) in [(0.3, 0.2), (0.3, 2.5), (0.95, 0.1), (0.95, -1.4)] {
            // An ellipse with a = 2 and mass 1.5.
            let (a, mass) = (2.0_f64, 1.5_f64);
            let orbit = Orbit::new(1.0 / a, mass * a * (1.0 - e * e), mass);
            let (s, c) = f64::sin_cos(x);
            let rv = e * s * (mass * a).sqrt();
            let t = (x - e * s) * (a * a * a / mass).sqrt();
            let found = orbit.since_pericentre(a * (1.0 - e * c), rv);
            assert!((found - t).abs() < 1e-13, "{e} {x}: {found} {t}");
            // A hyperbola.
            let e = 1.0 + e;
            let orbit = Orbit::new(-1.0 / a, mass * a * (e * e - 1.0), mass);
            let (s, c) = (x.sinh(), x.cosh());
            let t = (e * s - x) * (a * a * a / mass).sqrt();
            let found = orbit.since_pericentre(a * (e * c - 1.0), e * s * (mass * a).sqrt());
            assert!(
                (found - t).abs() < 1e-12 * (1.0 + t.abs()),
                "{e} {x}: {found} {t}"
            );
        }
    }
}
