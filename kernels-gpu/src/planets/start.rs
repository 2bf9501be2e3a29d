//! Start states: a star and planets by orbital elements, each of which is fixed, drawn or an axis of a map.

use core::f64::consts::{PI, TAU};

use super::kepler::Phase;
use super::system::Conditions;
use super::{Follow, MAX_PLANETS, Observation, Physics, System};
use crate::Vec3;
use crate::encounters::Law;
use crate::encounters::orbit::eccentric_anomaly;
use crate::number::{divide, root};

/// The numbers of a planet: mass, semi-major axis, eccentricity, inclination, longitude of the ascending node, argument of the pericentre, and
/// mean anomaly, with angles in radians.
pub const ELEMENTS: [&str; 7] = ["m", "a", "e", "inc", "Omega", "omega", "M"];

/// How long systems are followed, and what ends them sooner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Limits {
    /// The step (time), or as a share of the shortest period of each system if `step_in_periods` is not 0.
    pub step: f64,
    /// 1 if the step is a share of the shortest period, otherwise 0.
    pub step_in_periods: u64,
    /// The time for which systems are followed.
    pub end: f64,
    /// The distance from the centre of mass of the star and the inner planets beyond which a planet has escaped.
    pub far: f64,
    /// Two planets have an encounter within this number of Hill radii a (m / 3 M)^(1/3) of either of them; 0 for no encounters.
    pub hill: f64,
    /// The largest MEGNO.
    pub megno: f64,
}

/// The starts of all systems.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Plan {
    /// Number of planets.
    pub count: u64,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Columns and rows of a map.
    pub size: [u64; 2],
    /// See [`Limits`].
    pub limits: Limits,
    /// See [`Physics`].
    pub physics: Physics,
    /// What is observed.
    pub observation: Observation,
    /// The mass of the star.
    pub star: Law,
    /// The [`ELEMENTS`] of the planets.
    pub planets: [[Law; ELEMENTS.len()]; MAX_PLANETS],
}

impl Plan {
    /// The mass of the star in a system.
    pub fn star(&self, item: u64) -> f64 {
        self.star.value(self.seed, self.size, 0, item)
    }

    /// An element of a planet in a system.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn element(&self, planet: usize, element: usize, item: u64) -> f64 {
        let number = 1 + ELEMENTS.len() * planet + element;
        let law = &self.planets[planet][element];
        law.value(self.seed, self.size, number as u32, item)
    }

    /// The step of a system, and its number of steps.
    pub fn step(&self, item: u64) -> (f64, u32) {
        let limits = &self.limits;
        let mut h = limits.step;
        if limits.step_in_periods != 0 {
            let mut least = f64::INFINITY;
            let (mut i, mut inner) = (0, self.star(item));
            while i < self.count as usize {
                inner += self.element(i, 0, item);
                let a = self.element(i, 1, item);
                let period = TAU * root(divide(a * a * a, inner));
                least = if period < least { period } else { least };
                i += 1;
            }
            h *= least;
        }
        // A quotient that rounding left below a whole number counts as that number.
        let steps = divide(limits.end, h) + 1e-6;
        let steps = if steps < 4e9 { steps } else { 4e9 };
        (h, if steps < 1.0 { 1 } else { steps as u32 })
    }

    /// The system at its start.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn begin<F: Follow, const N: usize>(&self, item: u64) -> System<f64, N> {
        let star = self.star(item);
        let (h, steps) = self.step(item);
        let conditions = Conditions {
            h,
            steps,
            far: self.limits.far,
            megno: self.limits.megno,
            hill: self.limits.hill,
        };
        let mut bodies = [(0.0, Phase::default(), 0.0); N];
        let (mut i, mut inner) = (0, star);
        while i < self.count as usize && i < N {
            let mut elements = [0.0; ELEMENTS.len()];
            let mut k = 0;
            while k < ELEMENTS.len() {
                elements[k] = self.element(i, k, item);
                k += 1;
            }
            let [mass, a, ..] = elements;
            inner += mass;
            bodies[i] = (mass, state(inner, &elements), a);
            i += 1;
        }
        System::begin::<F>(star, i, |i| bodies[i], &conditions, &self.physics)
    }
}

/// Position and velocity of a planet with these [`ELEMENTS`], about this mass.
pub fn state(mass: f64, elements: &[f64; ELEMENTS.len()]) -> Phase<f64> {
    let &[_, a, e, inclination, node, argument, mean] = elements;
    let mean = mean - TAU * libm::floor(mean * (0.5 / PI) + 0.5);
    let (s, c) = libm::sincos(eccentric_anomaly(mean, e));
    let (si, ci) = libm::sincos(inclination);
    let (sn, cn) = libm::sincos(node);
    let (sa, ca) = libm::sincos(argument);
    let j = root(1.0 - e * e);
    let speed = divide(root(divide(mass, a)), 1.0 - e * c);
    // The directions of the pericentre, and of the motion there.
    let p = Vec3 {
        x: cn * ca - sn * sa * ci,
        y: sn * ca + cn * sa * ci,
        z: sa * si,
    };
    let q = Vec3 {
        x: -cn * sa - sn * ca * ci,
        y: -sn * sa + cn * ca * ci,
        z: ca * si,
    };
    Phase {
        x: q.scaled(a * j * s).add_scaled(a * (c - e), p),
        v: q.scaled(speed * j * c).add_scaled(-(speed * s), p),
    }
}
