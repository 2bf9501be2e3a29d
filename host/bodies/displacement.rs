//! How far the errors of time steps displace bodies: the witness for whatever the energy cannot see, such as light bodies and test bodies.
//!
//! Parts of a run are repeated with steps twice as long. Where both give a body different positions, its steps err: by the difference over
//! 2ᵖ - 1 for an integrator of order p (Richardson 1911).

use glam::DVec3;

use crate::Bodies;

/// The displacement, relative to the distance of the attracting body, above which there is a warning.
pub const DISPLACEMENT_LIMIT: f64 = 0.01;
/// Up to this number of bodies all are watched, beyond it only light ones.
const FEW_BODIES: usize = 12;
/// A body is light if its mass is below this fraction of that of the body that attracts it most: its orbit may be lost without a trace
/// in the energy.
const LIGHT: f64 = 0.01;
/// Largest number of pairs of a body and a body with mass that a comparison goes through.
const MAX_PAIRS: usize = 1 << 24;

/// The name of a body in messages and pictures: its own, or its number, which begins with 1.
pub fn body_name(names: Option<&[String]>, body: usize) -> String {
    match names.and_then(|names| names.get(body)) {
        Some(name) => name.clone(),
        None => format!("body {}", body + 1),
    }
}

/// The displacement of the body that is displaced most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Displacement {
    /// The place of the body, from 0.
    pub body: usize,
    /// The place of the body that attracts it most, from 0.
    pub attractor: usize,
    /// The displacement over the distance between both.
    pub relative: f64,
    /// Whether the body has no mass.
    pub is_test_body: bool,
}

impl Displacement {
    /// In words, with the names of the bodies.
    pub fn in_words(&self, names: Option<&[String]>) -> String {
        let Self {
            body,
            attractor,
            relative,
            is_test_body,
        } = *self;
        let kind = if is_test_body { " (a test body)" } else { "" };
        let [body, attractor] = [body, attractor].map(|place| body_name(names, place));
        format!("{body}{kind} by {relative:.2e} of its distance from {attractor}")
    }

    /// A warning above [`DISPLACEMENT_LIMIT`]; `advice` tells the user what to do.
    pub fn warning(&self, names: Option<&[String]>, advice: &str) -> Option<String> {
        (self.relative > DISPLACEMENT_LIMIT).then(|| {
            format!(
                "the errors of the steps displace {}, whatever the energy says: its trajectory is not reliable; {advice}",
                self.in_words(names)
            )
        })
    }

    /// Checks that the displacement does not exceed the user's limit, or [`DISPLACEMENT_LIMIT`] if that is larger.
    ///
    /// # Errors
    /// A message that names both.
    pub fn check(&self, most: Option<f64>, names: Option<&[String]>) -> Result<(), String> {
        match most {
            Some(most) if self.relative > most.max(DISPLACEMENT_LIMIT) => Err(format!(
                "the errors of the steps displace {}, above --max-error {most}",
                self.in_words(names)
            )),
            _ => Ok(()),
        }
    }
}

/// The displacements of bodies so far.
#[derive(Clone, Debug)]
pub struct Displacements {
    /// For each body the sum, and the body that attracted it most.
    of_bodies: Vec<(f64, Option<usize>)>,
}

impl Displacements {
    /// Whether there are bodies whose errors the energy may not show: a few bodies, or light ones among many.
    pub fn are_needed(bodies: &Bodies) -> bool {
        let heaviest = bodies.mass.iter().copied().fold(0.0, f64::max);
        let light = |mass: &f64| *mass < LIGHT * heaviest;
        let few = (2..=FEW_BODIES).contains(&bodies.len());
        heaviest > 0.0 && (few || bodies.mass.iter().any(light))
    }

    /// None so far; `None` if they are not needed, or if there are too many pairs.
    pub fn of(bodies: &Bodies) -> Option<Self> {
        let n = bodies.len();
        let with_mass = bodies.mass.iter().filter(|mass| **mass > 0.0).count();
        let affordable = n.saturating_mul(with_mass) <= MAX_PAIRS;
        (Self::are_needed(bodies) && affordable).then(|| Self {
            of_bodies: vec![(0.0, None); n],
        })
    }

    /// What to tell the user if there are too many pairs.
    pub const TOO_MANY: &str = "the energy shows nothing of light bodies and test bodies, and these are too many to be checked otherwise";

    /// Adds the displacements of a part of the run, from the positions at its start, at its end, and at the end with steps twice as long.
    /// `order` is that of the integrator, and `weight` multiplies the displacements, for parts that stand for longer ones. Returns the
    /// largest difference, relative to the distance of the attracting body.
    pub fn add(
        &mut self,
        [from, to, other]: [&[DVec3]; 3],
        mass: &[f64],
        softening: f64,
        order: u32,
        weight: f64,
    ) -> f64 {
        let ratio = 2.0_f64.powi(order as i32) - 1.0;
        let with_mass: Vec<usize> = (0..mass.len()).filter(|j| mass[*j] > 0.0).collect();
        let few = mass.len() <= FEW_BODIES;
        let mut largest = 0.0_f64;
        let distance = |at: &[DVec3], i: usize, j: usize| {
            let apart = at[i] - at[j];
            apart.length().hypot(softening)
        };
        for (i, (sum, attracted_by)) in self.of_bodies.iter_mut().enumerate() {
            let pull = |j: usize| mass[j] / distance(to, i, j).powi(2);
            let others = with_mass.iter().copied().filter(|j| *j != i);
            let Some(attractor) = others.max_by(|j, k| pull(*j).total_cmp(&pull(*k))) else {
                continue;
            };
            if !few && mass[i] >= LIGHT * mass[attractor] {
                continue;
            }
            let scale = distance(from, i, attractor).max(distance(to, i, attractor));
            let difference = other[i].distance(to[i]) / scale;
            largest = largest.max(difference);
            *sum += match difference {
                // So large a difference does not follow the order: neither of both needs to be right.
                difference if difference > 1.0 => weight * difference,
                difference if difference.is_nan() => f64::INFINITY,
                difference => weight * difference / ratio,
            };
            *attracted_by = Some(attractor);
        }
        largest
    }

    /// The largest one; `None` before the first comparison.
    pub fn largest(&self, mass: &[f64]) -> Option<Displacement> {
        let all = self.of_bodies.iter().enumerate();
        let known = all.filter_map(|(body, (sum, attractor))| Some((body, *sum, (*attractor)?)));
        let (body, relative, attractor) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Displacement {
            body,
            attractor,
            relative,
            is_test_body: mass[body] == 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A heavy body at the origin and lighter ones around it.
    fn system(masses: &[f64]) -> Bodies {
        let place = |i: usize| DVec3::new(i as f64, 0.0, 0.0);
        Bodies {
            mass: masses.to_vec(),
            position: (0..masses.len()).map(place).collect(),
            velocity: vec![DVec3::ZERO; masses.len()],
        }
    }

    #[test]
    fn the_body_that_is_displaced_most_for_its_distance_is_named() {
        let bodies = system(&[1.0, 1e-6, 0.0]);
        let mut found = Displacements::of(&bodies).expect("few bodies");
        assert_eq!(found.largest(&bodies.mass), None);
        let mut other = bodies.position.clone();
        other[1].y += 0.03;
        other[2].y += 0.04;
        let at = &bodies.position;
        for _ in 0..2 {
            found.add([at, at, &other], &bodies.mass, 0.0, 2, 1.5);
        }
        let largest = found.largest(&bodies.mass).expect("two parts");
        assert_eq!(
            (largest.body, largest.attractor, largest.is_test_body),
            (1, 0, false)
        );
        assert!((largest.relative - 0.03).abs() < 1e-15);
        let names = ["sun", "planet", "asteroid"].map(String::from);
        let said = largest
            .warning(Some(&names), "take care")
            .expect("above 0.01");
        assert!(
            said.contains("planet by 3.00e-2 of its distance from sun"),
            "{said}"
        );
        assert_eq!(largest.check(None, None), Ok(()));
        assert_eq!(largest.check(Some(0.1), None), Ok(()));
        // Beyond the distance itself, the order of the integrator tells nothing.
        let mut lost = Displacements::of(&bodies).expect("few bodies");
        let far: Vec<DVec3> = at.iter().map(|x| *x + DVec3::splat(3.0)).collect();
        lost.add([at, at, &far], &bodies.mass, 0.0, 8, 1.0);
        assert!(lost.largest(&bodies.mass).expect("one part").relative > 2.5);
        // A limit of the energy below the usual one of displacements keeps the latter.
        assert!(
            largest
                .check(Some(1e-9), None)
                .unwrap_err()
                .contains("body 2 by")
        );
        let small = Displacement {
            relative: 0.009,
            ..largest
        };
        assert_eq!(
            (small.check(Some(1e-9), None), small.warning(None, "")),
            (Ok(()), None)
        );
    }

    #[test]
    fn of_many_bodies_only_light_ones_are_watched() {
        assert!(Displacements::of(&system(&[1.0; 12])).is_some());
        assert!(Displacements::of(&system(&[1.0; 13])).is_none());
        assert!(Displacements::of(&system(&[0.0; 3])).is_none());
        let mut masses = [1.0; 14];
        masses[13] = 0.0;
        let bodies = system(&masses);
        let mut found = Displacements::of(&bodies).expect("a test body");
        let at = &bodies.position;
        let moved: Vec<DVec3> = at.iter().map(|x| *x + DVec3::splat(0.1)).collect();
        found.add([at, at, &moved], &bodies.mass, 0.0, 1, 1.0);
        let largest = found.largest(&bodies.mass).expect("one part");
        assert_eq!((largest.body, largest.is_test_body), (13, true));
        assert!(
            largest
                .in_words(None)
                .starts_with("body 14 (a test body) by 1.73e-1")
        );
        found.add([at, at, &[DVec3::NAN; 14]], &bodies.mass, 0.0, 1, 1.0);
        assert_eq!(
            found.largest(&bodies.mass).map(|l| l.relative),
            Some(f64::INFINITY)
        );
    }
}
