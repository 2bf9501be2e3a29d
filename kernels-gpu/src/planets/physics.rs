//! What systems have beside the gravity of points, and how they are integrated.

use super::kepler::Phase;
use super::{Follow, MAX_PLANETS};
use crate::number::{Dual, divide, root};
use crate::{Real, Vec3};

/// The largest number of stages of a corrector.
pub const MAX_STAGES: usize = 33;

/// Numbers of a planet for forces that depend on velocities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Body {
    /// The pressure of the star's radiation divided by its gravity.
    pub beta: f64,
    /// 1 / (2 τ), where τ is the time in which the semi-major axis shrinks by e.
    pub shrinks: f64,
    /// 2 / τ, where τ is the time in which the eccentricity shrinks by e.
    pub circularises: f64,
    /// 3 k₂ R⁵ of the tide on the planet, with its Love number and radius.
    pub tide: f64,
    /// The time by which this tide lags.
    pub lag: f64,
}

/// Forces between the star and planets, and the integrator. The forces are written for any number, so that dual numbers give their tangent
/// map.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// One of the constants.
    pub integrator: u64,
    /// Stages of the symplectic corrector of Wisdom-Holman steps; 0 for none.
    pub corrector_stages: u64,
    /// In each stage a drift and the kick after it, in units of the step.
    pub corrector: [[f64; 2]; MAX_STAGES],
    /// The largest relative error of a step of the system's own length.
    pub tolerance: f64,
    /// 1 if any of the following is not 0.
    pub has_drags: u64,
    /// 1/c² for the star's first post-Newtonian acceleration in harmonic coordinates; or 0.
    pub post_newtonian: f64,
    /// 1/c for the Poynting-Robertson drag.
    pub slowness: f64,
    /// 3 k₂ R⁵ of the tides on the star.
    pub tide: f64,
    /// The time by which they lag.
    pub lag: f64,
    /// The angular velocity of the star about the third axis.
    pub spin: f64,
    /// Numbers of the planets.
    pub bodies: [Body; MAX_PLANETS],
}

impl Default for Physics {
    fn default() -> Self {
        Self {
            relativity: 0.0,
            j2: 0.0,
            j4: 0.0,
            drift_first: 0,
            integrator: Self::WISDOM_HOLMAN,
            corrector_stages: 0,
            corrector: [[0.0; 2]; MAX_STAGES],
            tolerance: 1e-12,
            has_drags: 0,
            post_newtonian: 0.0,
            slowness: 0.0,
            tide: 0.0,
            lag: 0.0,
            spin: 0.0,
            bodies: [Body::default(); MAX_PLANETS],
        }
    }
}

impl Physics {
    /// Steps of Wisdom & Holman.
    pub const WISDOM_HOLMAN: u64 = 0;
    /// Steps of each system's own length.
    pub const ADAPTIVE: u64 = 1;
    /// Steps of Wisdom & Holman, and others where planets are close.
    pub const HYBRID: u64 = 2;

    /// Whether it has forces.
    #[inline(always)]
    pub fn has_forces(&self) -> bool {
        self.relativity != 0.0 || self.j2 != 0.0 || self.j4 != 0.0 || self.has_drags != 0
    }

    /// Whether it has anything.
    pub fn is_general(&self) -> bool {
        self.has_forces() || self.drift_first != 0 || self.corrector_stages != 0
    }

    /// Whether systems have a corrector.
    #[inline(always)]
    pub fn corrects<F: Follow>(&self) -> bool {
        F::GENERAL && !F::ADAPTIVE && self.corrector_stages != 0
    }

    /// Whether only planets that are close need steps of their own length.
    #[inline(always)]
    pub fn is_hybrid(&self) -> bool {
        self.integrator == Self::HYBRID
    }

    /// The acceleration of a planet of this mass, by place and velocity relative to the star, and its derivative along the tangent vector.
    #[inline(always)]
    pub fn forces<R: Real, F: Follow>(
        &self,
        planet: usize,
        [star, mass]: [R; 2],
        state: &Phase<R>,
        tangent: &Phase<R>,
    ) -> [Vec3<R>; 2] {
        if !F::TANGENT {
            return [self.acceleration::<R, F>(planet, [star, mass], state); 2];
        }
        let fixed = |value| Dual {
            value,
            derivative: R::zero(),
        };
        let state = Phase {
            x: dual(state.x, tangent.x),
            v: dual(state.v, tangent.v),
        };
        let masses = [fixed(star), fixed(mass)];
        let Vec3 { x, y, z } = self.acceleration::<Dual<R>, F>(planet, masses, &state);
        let value = Vec3 {
            x: x.value,
            y: y.value,
            z: z.value,
        };
        let derivative = Vec3 {
            x: x.derivative,
            y: y.derivative,
            z: z.derivative,
        };
        [value, derivative]
    }

    #[inline(always)]
    fn acceleration<T: Real, F: Follow>(
        &self,
        planet: usize,
        [star, mass]: [T; 2],
        &Phase { x, v }: &Phase<T>,
    ) -> Vec3<T> {
        let c = T::from_f64;
        let r2 = x.dot(x);
        let w = r2.inv_cube();
        let root = r2 * w;
        // r⁻², and the squared sine of the latitude.
        let q = root * root;
        let s = (x.z * x.z) * q;
        let j2 = c(self.j2) * (star * (w * q));
        let j4 = c(self.j4) * ((star * (w * q)) * q);
        let general = c(self.relativity) * ((star * q) * (star * q));
        let along = c(5.0).mul_add(s, c(-1.0));
        let along4 = c(63.0).mul_add(s, c(-42.0)).mul_add(s, c(3.0));
        let across4 = c(-28.0).mul_add(s, c(12.0));
        let along = j2.mul_add(along, j4.mul_add(along4, -general));
        let across = j2.mul_add(c(-2.0), j4 * across4);
        let pulled = x.scaled(along);
        let pulled = Vec3 {
            z: across.mul_add(x.z, pulled.z),
            ..pulled
        };
        if !F::ADAPTIVE || self.has_drags == 0 {
            return pulled;
        }
        // With the radial velocity times the distance.
        let xv = x.dot(v);
        // Schwarzschild's field (Anderson et al. 1975).
        let g = c(self.post_newtonian) * (star * w);
        let radial = g * ((c(4.0) * star).mul_add(root, -v.dot(v)));
        let forwards = (c(4.0) * g) * xv;
        let pulled = pulled.add_scaled(radial, x).add_scaled(forwards, v);
        // Radiation (Burns, Lamy & Soter 1979).
        let body = &self.bodies[planet];
        let light = c(body.beta) * star;
        let drag = c(-self.slowness) * (light * q);
        let radial = light.mul_add(w, drag * (xv * q));
        let pulled = pulled.add_scaled(radial, x).add_scaled(drag, v);
        // A disc (Papaloizou & Larwood 2000).
        let radial = c(-body.circularises) * (xv * q);
        let pulled = pulled.add_scaled(radial, x).add_scaled(c(-body.shrinks), v);
        // Tides by a constant time lag (Mignard 1979, Hut 1981): -A r⁻⁸ (x + τ (2 x (x·v)/r² + v - Ω × x)), where A has the mass that raises
        // the tide, divided by the planet's.
        let w8 = (q * q) * (q * q);
        let pull = c(-self.tide) * (mass * w8);
        let lagging = c(self.lag) * pull;
        let spin = c(self.spin);
        let relative = Vec3 {
            x: spin.mul_add(x.y, v.x),
            y: (-spin).mul_add(x.x, v.y),
            z: v.z,
        };
        let radial = lagging.mul_add(c(2.0) * (xv * q), pull);
        let pulled = pulled.add_scaled(radial, x).add_scaled(lagging, relative);
        if body.tide == 0.0 {
            return pulled;
        }
        // On a planet that turns with its mean motion n: n² = M/a³, and Ω × x = n (r² v - (x·v) x)/|x × v|.
        let pull = c(-body.tide) * ((star * star) * (inverse(mass) * w8));
        let lagging = c(body.lag) * pull;
        let total = star + mass;
        let u = (c(2.0) * root) - v.dot(v) * inverse(total);
        let u = T::select(u.at_most(c(1e-12)), c(1e-12), u);
        let n = ((u * u) * u) * (u.inv_cube() * ((total * total) * total.inv_cube()));
        let momentum2 = r2 * v.dot(v) - xv * xv;
        let turn = n * (momentum2 * momentum2.inv_cube());
        let radial = (c(2.0) * (xv * q)) + turn * xv;
        let radial = lagging.mul_add(radial, pull);
        let forwards = lagging * (c(1.0) - turn * r2);
        pulled.add_scaled(radial, x).add_scaled(forwards, v)
    }

    /// The potential of these forces per unit of the planet's mass; with the post-Newtonian acceleration the constant of its motion, and
    /// without drags.
    pub fn potential(&self, star: f64, planet: usize, &Phase { x, v }: &Phase<f64>) -> f64 {
        let q = divide(1.0, x.dot(x));
        let r = root(q);
        let w = q * r;
        let s = (x.z * x.z) * q;
        let general = -0.5 * self.relativity * (star * star * q);
        let j2 = divide(self.j2, 3.0) * star * w * (3.0 * s - 1.0);
        let j4 = 0.2 * self.j4 * star * (w * q) * ((35.0 * s - 30.0) * s + 3.0);
        let v2 = v.dot(v);
        let pull = star * r;
        let post_newtonian =
            self.post_newtonian * (0.375 * v2 * v2 + 1.5 * pull * v2 + 0.5 * pull * pull);
        general + j2 + j4 + post_newtonian + self.bodies[planet].beta * pull
    }
}

/// 1/x for x above 0.
#[inline(always)]
fn inverse<T: Real>(x: T) -> T {
    let square = x * x;
    square.inv_cube() * square
}

/// A vector with its derivative.
#[inline(always)]
fn dual<R: Real>(value: Vec3<R>, derivative: Vec3<R>) -> Vec3<Dual<R>> {
    let of = |value, derivative| Dual { value, derivative };
    Vec3 {
        x: of(value.x, derivative.x),
        y: of(value.y, derivative.y),
        z: of(value.z, derivative.z),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planets::{Adaptive, Alone, WithTangent};

    fn physics() -> Physics {
        let mut physics = Physics {
            relativity: 0.03,
            j2: 0.02,
            j4: -0.01,
            has_drags: 1,
            post_newtonian: 0.01,
            slowness: 0.1,
            tide: 0.05,
            lag: 0.2,
            spin: 0.7,
            ..Physics::default()
        };
        physics.bodies[1] = Body {
            beta: 0.1,
            shrinks: 0.02,
            circularises: 0.03,
            tide: 1e-3,
            lag: 0.3,
        };
        physics
    }

    const STATE: Phase<f64> = Phase {
        x: Vec3 {
            x: 0.7,
            y: -0.5,
            z: 0.4,
        },
        v: Vec3 {
            x: 0.6,
            y: 0.9,
            z: -0.2,
        },
    };

    #[test]
    fn forces_are_the_slopes_of_their_potentials() {
        for kind in 0..3 {
            let mut physics = Physics::default();
            [physics.relativity, physics.j2, physics.j4] =
                [0, 1, 2].map(|k| if k == kind { 0.03 } else { 0.0 });
            let force = physics.acceleration::<f64, Adaptive<Alone>>(0, [1.3, 1e-3], &STATE);
            let k = 1e-5;
            let axes = [[k, 0.0, 0.0], [0.0, k, 0.0], [0.0, 0.0, k]];
            let slopes = axes.map(|[x, y, z]| {
                let at = |sign: f64| {
                    let x = STATE.x.add_scaled(sign, Vec3 { x, y, z });
                    physics.potential(1.3, 0, &Phase { x, ..STATE })
                };
                (at(1.0) - at(-1.0)) / (2.0 * k)
            });
            for (found, slope) in [force.x, force.y, force.z].iter().zip(slopes) {
                assert!((found + slope).abs() < 1e-9, "{kind}: {found} {slope}");
            }
        }
    }

    #[test]
    fn tangents_are_the_derivatives_of_the_forces() {
        let way = Phase {
            x: Vec3 {
                x: 0.3,
                y: 0.8,
                z: -0.6,
            },
            v: Vec3 {
                x: -0.4,
                y: 0.1,
                z: 0.5,
            },
        };
        let physics = physics();
        let masses = [1.3, 0.01];
        let [force, tangent] =
            physics.forces::<f64, Adaptive<WithTangent>>(1, masses, &STATE, &way);
        let at = |k: f64| {
            let state = Phase {
                x: STATE.x.add_scaled(k, way.x),
                v: STATE.v.add_scaled(k, way.v),
            };
            physics.acceleration::<f64, Adaptive<Alone>>(1, masses, &state)
        };
        assert_eq!(force, at(0.0));
        let k = 1e-5;
        let off = tangent - (at(k) - at(-k)).scaled(0.5 / k);
        assert!(
            off.dot(off).sqrt() < 1e-7 * tangent.dot(tangent).sqrt(),
            "{off:?}"
        );
    }
}
