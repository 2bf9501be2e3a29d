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
    /// They also have one within this distance.
    pub near: f64,
    /// The largest MEGNO.
    pub megno: f64,
}

/// What stands in the place of [`ELEMENTS`]: a sum of these constants, or 0.
#[derive(Clone, Copy, Debug)]
pub struct PlanetForm;

impl PlanetForm {
    /// The period (years) in place of the semi-major axis.
    pub const PERIOD: u64 = 1;
    /// The longitude of the pericentre in place of its argument.
    pub const PERICENTRE: u64 = 2;
    /// The mean longitude in place of the mean anomaly.
    pub const LONGITUDE: u64 = 4;
    /// The true anomaly in its place.
    pub const TRUE_ANOMALY: u64 = 8;
    /// The time of a passage of the pericentre (years) in its place.
    pub const PASSAGE: u64 = 16;
    /// Place (au) and velocity (au a year) in place of all elements.
    pub const CARTESIAN: u64 = 32;
}

/// A planet at its start, in Jacobi coordinates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    /// Its mass.
    pub mass: f64,
    /// The mass about which its orbit is given, with its own.
    pub about: f64,
    /// The semi-major axis of this orbit, which is negative if it is not bound.
    pub a: f64,
    /// Its eccentricity.
    pub e: f64,
    /// Place and velocity.
    pub state: Phase<f64>,
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
    /// See [`PlanetForm`].
    pub forms: [u64; MAX_PLANETS],
    /// 1 if orbits are about the star alone, and 0 if they are about the star and the planets further in.
    pub heliocentric: u64,
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

    /// A planet in a system, whose orbit is about this mass.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    fn start(&self, planet: usize, item: u64, about: f64) -> Start {
        let form = self.forms[planet];
        let has = |what: u64| form & what != 0;
        let mut elements = [0.0; ELEMENTS.len()];
        let mut k = 0;
        while k < ELEMENTS.len() {
            elements[k] = self.element(planet, k, item);
            k += 1;
        }
        let [mass, mut a, mut e, ..] = elements;
        if has(PlanetForm::CARTESIAN) {
            let [_, x, y, z, vx, vy, vz] = elements;
            let [vx, vy, vz] = [vx, vy, vz].map(|v| divide(v, TAU));
            let state = Phase {
                x: Vec3 { x, y, z },
                v: Vec3 {
                    x: vx,
                    y: vy,
                    z: vz,
                },
            };
            let (v2, along) = (state.v.dot(state.v), state.x.dot(state.v));
            let (inverse_r, inverse) =
                (divide(1.0, root(state.x.dot(state.x))), divide(1.0, about));
            let to_pericentre = state.x.scaled(v2 * inverse - inverse_r);
            let to_pericentre = to_pericentre.add_scaled(-(along * inverse), state.v);
            a = divide(1.0, 2.0 * inverse_r - v2 * inverse);
            e = root(to_pericentre.dot(to_pericentre));
            return Start {
                mass,
                about,
                a,
                e,
                state,
            };
        }
        if has(PlanetForm::PERIOD) {
            a = libm::cbrt(about * (a * a));
            elements[1] = a;
        }
        if has(PlanetForm::PERICENTRE) {
            elements[5] -= elements[4];
        }
        let last = elements[6];
        if has(PlanetForm::LONGITUDE) {
            elements[6] = last - (elements[4] + elements[5]);
        }
        if has(PlanetForm::TRUE_ANOMALY) {
            let (s, c) = libm::sincos(0.5 * last);
            let anomaly = 2.0 * libm::atan2(root(1.0 - e) * s, root(1.0 + e) * c);
            elements[6] = anomaly - e * libm::sin(anomaly);
        }
        if has(PlanetForm::PASSAGE) {
            elements[6] = -(last * TAU) * root(divide(about, a * a * a));
        }
        Start {
            mass,
            about,
            a,
            e,
            state: state(about, &elements),
        }
    }

    /// The planets of a system at their start, of which there are at most `N`.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn starts<const N: usize>(&self, item: u64) -> [Start; N] {
        let star = self.star(item);
        let mut starts = [Start::default(); N];
        // With their masses, relative to the star.
        let mut all = Phase::<f64>::default();
        let (mut i, mut inner) = (0, star);
        while i < self.count as usize && i < N {
            let (mass, before) = (self.element(i, 0, item), inner);
            inner += mass;
            let is_heliocentric = self.heliocentric != 0;
            let about = if is_heliocentric { star + mass } else { inner };
            let mut start = self.start(i, item, about);
            if is_heliocentric {
                let Phase { x, v } = start.state;
                let share = -divide(1.0, before);
                start.state = Phase {
                    x: x.add_scaled(share, all.x),
                    v: v.add_scaled(share, all.v),
                };
                all = Phase {
                    x: all.x.add_scaled(mass, x),
                    v: all.v.add_scaled(mass, v),
                };
            }
            starts[i] = start;
            i += 1;
        }
        starts
    }

    /// The step of a system, and its number of steps.
    pub fn step(&self, item: u64) -> (f64, u32) {
        self.step_of(&self.starts::<MAX_PLANETS>(item))
    }

    fn step_of<const N: usize>(&self, starts: &[Start; N]) -> (f64, u32) {
        let limits = &self.limits;
        let mut h = limits.step;
        if limits.step_in_periods != 0 {
            let (mut least, mut i) = (f64::INFINITY, 0);
            while i < self.count as usize && i < N {
                let Start { a, about, .. } = starts[i];
                let period = TAU * root(divide(a * a * a, about));
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
        let starts = self.starts::<N>(item);
        let (h, steps) = self.step_of(&starts);
        let conditions = Conditions {
            h,
            steps,
            far: self.limits.far,
            megno: self.limits.megno,
            hill: self.limits.hill,
            near: self.limits.near,
        };
        let count = if self.count as usize > N {
            N
        } else {
            self.count as usize
        };
        let planet = |i: usize| (starts[i].mass, starts[i].state, starts[i].a);
        System::begin::<F>(self.star(item), count, planet, &conditions, &self.physics)
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
