//! The course of one system: the orbits of its planets on the way from its start to its record.

use kernels_gpu::planets::kepler::Phase;
use kernels_gpu::planets::{Follow, Followed, MAX_PLANETS, Record};

use super::ensemble::{ForFollow, for_follow};
use super::{Validated, YEAR};

/// Steps between two calls of `cancelled`.
const STEPS_PER_CHECK: u64 = 1 << 10;

/// The orbits at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Time since the start (years).
    pub time: f64,
    /// Semi-major axis (au), eccentricity and inclination (radians) of each planet, about the star and the planets further in.
    pub orbits: Vec<[f64; 3]>,
    /// The mean of MEGNO until then; NaN without a tangent vector.
    pub mean_megno: f64,
}

/// The course of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The result, with the bits that all engines compute.
    pub record: Record,
    /// Moments at equal numbers of steps, and the final one.
    pub places: Vec<Place>,
}

impl Course {
    /// Follows a system and notes up to `limit` moments, and the final one. `None` if `cancelled` returned true, which is called from time to
    /// time.
    ///
    /// # Panics
    /// If the limit is 0.
    pub fn of(
        valid: &Validated,
        item: u64,
        limit: usize,
        cancelled: impl FnMut() -> bool,
    ) -> Option<Self> {
        assert!(limit > 0, "a course needs a moment");
        for_follow(
            valid,
            Noting {
                valid,
                item,
                limit,
                cancelled,
            },
        )
    }
}

struct Noting<'a, C> {
    valid: &'a Validated,
    item: u64,
    limit: usize,
    cancelled: C,
}

impl<C: FnMut() -> bool> ForFollow for Noting<'_, C> {
    type Output = Option<Course>;

    fn by<F: Follow>(mut self) -> Option<Course> {
        let plan = self.valid.plan();
        let count = plan.count as usize;
        let mut followed = Followed::<f64, MAX_PLANETS>::begin::<F>(plan, self.item);
        let mut inner = plan.star(self.item);
        let masses = (0..count).map(|planet| {
            inner += plan.element(planet, 0, self.item);
            inner
        });
        let masses: Vec<f64> = masses.collect();
        let (mut places, mut steps, mut stride) = (Vec::new(), 0_u64, 1);
        loop {
            let goes_on = followed.system.goes_on();
            if steps.is_multiple_of(stride) || !goes_on {
                let record = followed.record::<F>(plan);
                let given = followed.system.given::<F>(count, &plan.physics);
                let orbits = masses.iter().zip(&given.states);
                places.push(Place {
                    time: record.time / YEAR,
                    orbits: orbits.map(|(mass, state)| orbit(*mass, state)).collect(),
                    mean_megno: record.mean_megno,
                });
                if !goes_on {
                    return Some(Course { record, places });
                }
            }
            if places.len() > self.limit {
                // The number of steps is not known before the end.
                stride *= 2;
                let mut number = 0;
                places.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
            }
            if steps.is_multiple_of(STEPS_PER_CHECK) && (self.cancelled)() {
                return None;
            }
            followed.step::<F>(plan);
            steps += 1;
        }
    }
}

/// Semi-major axis, eccentricity and inclination of a motion about a mass.
fn orbit(mass: f64, Phase { x, v }: &Phase<f64>) -> [f64; 3] {
    let (r, v2, along) = (x.dot(*x).sqrt(), v.dot(*v), x.dot(*v));
    let to_pericentre = x.scaled(v2 / mass - 1.0 / r).add_scaled(-along / mass, *v);
    let momentum = [
        x.y * v.z - x.z * v.y,
        x.z * v.x - x.x * v.z,
        x.x * v.y - x.y * v.x,
    ];
    [
        1.0 / (2.0 / r - v2 / mass),
        to_pericentre.dot(to_pericentre).sqrt(),
        momentum[0].hypot(momentum[1]).atan2(momentum[2]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuEngine, Engine as _, Observable, Overrides};

    #[test]
    fn courses_begin_with_the_given_elements_and_end_with_the_records_of_engines() {
        let planets = [
            "m=0.000954,a=5.204,e=0.048,inc=0.02,omega=0.257,M=0.6",
            "m=0.000285,a=9.6,e=0.05,inc=0.04,Omega=1,omega=1.616,M=0.871",
        ];
        let planets: Vec<_> = planets.iter().map(|p| p.parse().unwrap()).collect();
        for (integrator, observable, years) in [
            (None, "megno", 300.0),
            (Some("adaptive"), "megno", 100.0),
            (Some("hybrid"), "time", 100.0),
            (None, "energy-error", 300.0),
            (None, "frequency-drift", 300.0),
            (Some("hybrid"), "fli", 100.0),
        ] {
            let valid = Overrides {
                planet: planets.clone(),
                years: Some(years),
                integrator: integrator.map(|name| name.parse().unwrap()),
                observable: Some(observable.parse().unwrap()),
                ..Overrides::default()
            };
            let valid = valid.validated().unwrap();
            let engine = CpuEngine::new(Some(1)).unwrap();
            let found = engine.compute(&valid, &trisolar_run::Unattended).unwrap();
            let bits = |r: &Record| {
                let of = Observable::all().flat_map(Observable::reals);
                let numbers: Vec<u64> = of.map(|(.., of)| of(r).to_bits()).collect();
                (numbers, r.steps, r.outcome)
            };
            for limit in [1, 7, 100_000] {
                let course = Course::of(&valid, 0, limit, || false).unwrap();
                assert_eq!(bits(&course.record), bits(&found.values[0]));
                assert!(course.places.len() <= limit + 1, "{limit}");
                let (first, last) = (&course.places[0], course.places.last().unwrap());
                assert_eq!((first.time, last.time), (0.0, course.record.time / YEAR));
                assert_eq!(
                    last.mean_megno.to_bits(),
                    course.record.mean_megno.to_bits()
                );
                for (orbit, elements) in first.orbits.iter().zip(&planets) {
                    let given = [1, 2, 3].map(|k| elements.0[k].range()[0]);
                    for (found, given) in orbit.iter().zip(given) {
                        assert!((found - given).abs() < 1e-13, "{orbit:?} {given}");
                    }
                }
                // Jupiter and Saturn keep their orbits but for small changes.
                for place in &course.places {
                    assert!((place.orbits[0][0] - 5.204).abs() < 0.05, "{place:?}");
                }
            }
        }
        let valid = Overrides {
            planet: planets,
            ..Overrides::default()
        };
        assert_eq!(Course::of(&valid.validated().unwrap(), 0, 9, || true), None);
    }
}
