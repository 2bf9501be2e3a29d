//! The osculating orbit of a planet, and its longitudes in the equinoctial frame, which is regular for circles in the plane of reference
//! (Broucke & Cefola 1972).

use core::f64::consts::TAU;

use crate::Vec3;
use crate::number::Bits;
use crate::planets::kepler::Phase;

/// Below this, a number is no divisor.
const LEAST: f64 = 1e-18;
/// A number whose sum with one below 2⁵¹ has no fraction.
const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;
/// tan(π/8).
const TAN: f64 = 0.414_213_562_373_095_05;
/// 1/(2 k + 1), of the series of the arc tangent, which they give to within rounding up to `TAN`.
const SERIES: [f64; 22] = {
    let (mut all, mut k) = ([0.0; 22], 0);
    while k < all.len() {
        all[k] = 1.0 / (2 * k + 1) as f64;
        k += 1;
    }
    all
};

/// The orbit of a motion about a mass.
pub(super) struct Orbit<R> {
    place: Vec3<R>,
    /// 1 / the semi-major axis: negative if the orbit is not bound.
    pub(super) inverse_a: R,
    /// 1 / the mass.
    pub(super) inverse_mass: R,
    /// To the pericentre, with the eccentricity as its length.
    pub(super) eccentricity: Vec3<R>,
    /// The angular momentum.
    pub(super) momentum: Vec3<R>,
}

/// At least [`LEAST`].
#[inline(always)]
pub(super) fn divisor<R: Bits>(x: R) -> R {
    let least = R::from_f64(LEAST);
    R::select(least.at_most(x), x, least)
}

impl<R: Bits> Orbit<R> {
    #[inline(always)]
    pub(super) fn of(mass: R, Phase { x, v }: &Phase<R>) -> Self {
        let one = R::from_f64(1.0);
        let (x, v) = (*x, *v);
        let inverse_mass = mass.divides(one);
        let inverse_r = x.dot(x).reciprocal_root();
        let v2 = v.dot(v) * inverse_mass;
        let along = x.dot(v) * inverse_mass;
        Self {
            place: x,
            inverse_a: (inverse_r + inverse_r) - v2,
            inverse_mass,
            eccentricity: x.scaled(v2 - inverse_r).add_scaled(-along, v),
            momentum: Vec3 {
                x: x.y * v.z - x.z * v.y,
                y: x.z * v.x - x.x * v.z,
                z: x.x * v.y - x.y * v.x,
            },
        }
    }

    /// Mean longitude, longitude of the pericentre and longitude of the node (turns). Those that an orbit does not have are any.
    #[inline(always)]
    pub(super) fn longitudes(&self) -> [R; 3] {
        let c = R::from_f64;
        let one = c(1.0);
        let (x, e, m) = (self.place, self.eccentricity, self.momentum);
        let m2 = divisor(m.dot(m));
        let tilt = divisor(m2.reciprocal_root() * m2 + m.z).divides(one);
        let (p, q) = (m.x * tilt, m.y * tilt);
        let (along, across) = ((-p).mul_add(x.z, x.x), (-q).mul_add(x.z, x.y));
        let (k, h) = ((-p).mul_add(e.z, e.x), (-q).mul_add(e.z, e.y));
        let shape2 = divisor(one - k.mul_add(k, h * h));
        let inverse_shape = shape2.reciprocal_root();
        let b = (shape2 * inverse_shape + one).divides(one);
        let scale = self.inverse_a * inverse_shape;
        // The eccentric longitude, from which Kepler's equation leads to the mean one.
        let mixed = (h * k) * b;
        let cos = scale.mul_add((one - (k * k) * b) * along - mixed * across, k);
        let sin = scale.mul_add((one - (h * h) * b) * across - mixed * along, h);
        let equation = h * cos - k * sin;
        [
            c(1.0 / TAU).mul_add(equation, turns(cos, sin)),
            turns(k, h),
            turns(-m.y, m.x),
        ]
    }
}

/// The angle of a vector in turns, from -1/2 to 1/2; 0 for one without length.
#[inline(always)]
pub(super) fn turns<R: Bits>(x: R, y: R) -> R {
    let c = R::from_f64;
    let zero = R::zero();
    let (right, up) = (zero.at_most(x), zero.at_most(y));
    let (x, y) = (R::select(right, x, -x), R::select(up, y, -y));
    let flat = y.at_most(x);
    let (low, high) = (R::select(flat, y, x), R::select(flat, x, y));
    // Above π/8, the angle beyond π/4.
    let near = low.at_most(c(TAN) * high);
    let over = R::select(near, low, low - high);
    let t = divisor(R::select(near, high, low + high)).divides(over);
    let z = -(t * t);
    let mut k = SERIES.len() - 1;
    let mut series = c(SERIES[k]);
    while k > 0 {
        k -= 1;
        series = series.mul_add(z, c(SERIES[k]));
    }
    let angle = (c(1.0 / TAU) * t).mul_add(series, R::select(near, zero, c(0.125)));
    let angle = R::select(flat, angle, c(0.25) - angle);
    let angle = R::select(right, angle, c(0.5) - angle);
    R::select(up, angle, -angle)
}

/// An angle (turns) without its whole turns, from -1/2 to 1/2.
#[inline(always)]
pub(super) fn wrapped<R: Bits>(turns: R) -> R {
    let whole = R::from_f64(WHOLE);
    turns - ((turns + whole) - whole)
}

/// √(M a), the angular momentum of a circular orbit; 1 / the semi-major axis must be above [`LEAST`].
#[inline(always)]
pub(super) fn circular<R: Bits>(orbit: &Orbit<R>) -> R {
    divisor(orbit.inverse_a * orbit.inverse_mass).reciprocal_root()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planets::start::state;

    #[test]
    fn turns_are_those_of_the_arc_tangent() {
        for i in 0..20_000 {
            let angle =
                (f64::from(i) + 0.5) / 10_000.0 * core::f64::consts::PI - core::f64::consts::PI;
            for r in [1e-7, 1.0, 3e5] {
                let found = turns(r * angle.cos(), r * angle.sin());
                assert!((found - angle / TAU).abs() < 1.2e-16, "{angle} {found}");
            }
        }
        assert_eq!(
            [turns(0.0, 0.0), turns(1.0, 0.0), turns(0.0, -2.0)],
            [0.0, 0.0, -0.25]
        );
        assert_eq!(
            [turns(-1.0, 0.0), wrapped(-3.25), wrapped(7.75)],
            [0.5, -0.25, -0.25]
        );
        assert!((core::f64::consts::FRAC_PI_8.tan() - TAN).abs() < 1e-16);
    }

    #[test]
    fn orbits_have_the_elements_of_their_states() {
        for (e, inc) in [
            (0.0, 0.0),
            (0.1, 0.0),
            (1e-6, 1e-5),
            (0.9, 0.4),
            (0.3, 1.6),
            (0.3, 2.9),
        ] {
            for i in 0..50 {
                let i = 0.1 * f64::from(i);
                let [node, argument, mean] = [0.37 * i, 1.1 * i, 0.71 * i];
                let (mass, a) = (1.3, 2.5);
                let phase = state(mass, &[0.0, a, e, inc, node, argument, mean]);
                let orbit = Orbit::of(mass, &phase);
                assert!((orbit.inverse_a * a - 1.0).abs() < 1e-14 / (1.0 - e));
                assert!((circular(&orbit) / (mass * a).sqrt() - 1.0).abs() < 1e-14 / (1.0 - e));
                let length = orbit.eccentricity.dot(orbit.eccentricity).sqrt();
                assert!((length - e).abs() < 2e-15, "{length} {e}");
                let found = orbit.longitudes();
                let expected = [node + argument + mean, node + argument, node];
                // Directions that hardly exist have large errors.
                let errors = [1e-14 / (1.0 - e), 1e-15 / e, 1e-15 / inc];
                for ((found, expected), error) in found.iter().zip(expected).zip(errors) {
                    let off = wrapped(found - expected / TAU).abs();
                    assert!(off < error, "e {e}, inc {inc}: {found} {expected} {off:e}");
                }
            }
        }
    }
}
