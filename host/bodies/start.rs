//! Warnings about a start that can be computed but is hardly what its user means.

use glam::DVec3;

use crate::Bodies;
use crate::near::nearest_pair;

/// Number of bodies below which each of them matters, so that softening should not reach from one to another.
pub const FEW_BODIES: usize = 100;

/// How much kinetic energy there has to be for each unit of potential energy before gravity hardly bends a path.
const FREE: f64 = 10.0;
/// How much kinetic energy there has to be for each unit of potential energy so that velocities matter.
const COLD: f64 = 1e-8;
/// The eccentricity from which a body that comes from far away passes another on an almost straight line.
const STRAIGHT: f64 = 20.0;
/// Number of pairs up to which all are looked at; of more, those of a sample of the bodies.
const PAIRS: usize = 50_000_000;

/// The reason why masses, velocities and gravitational constant of these bodies hardly belong together, and what to check: no mass, no
/// constant, velocities far above those that gravity could turn round, or far below those that it gives.
pub fn doubtful_energies(bodies: &Bodies, g: f64, softening: f64) -> Option<String> {
    if bodies.mass.iter().all(|mass| *mass == 0.0) {
        return Some(
            "the total mass is 0, so that nothing attracts and all bodies move straight on; check which column has the masses: a \
             first line with names, such as x y vx vy mass, says it"
                .into(),
        );
    }
    if bodies.len() < 2 {
        return None;
    }
    let check = format!(
        "check the gravitational constant (G is {g:?}) and that masses, lengths and velocities have units that go together"
    );
    if g == 0.0 {
        return Some(format!(
            "nothing is bound, because the gravitational constant is 0; {check}"
        ));
    }
    let ratio = energies(bodies, g.abs(), softening)?;
    Some(match ratio {
        0.0..1.0 => format!(
            "the kinetic energy is only {ratio:.3e} times the potential energy, so that bodies fall almost straight to each other; {check}"
        ),
        _ if ratio.is_finite() => format!(
            "nothing is bound: the kinetic energy is {ratio:.3e} times the potential energy, so that bodies leave each other on almost \
             straight lines; {check}"
        ),
        _ => format!(
            "nothing is bound: the velocities are far above those of escape, so that bodies leave each other on almost straight lines; {check}"
        ),
    })
}

/// The kinetic energy about the centre of mass in units of the potential energy, if gravity hardly bends the path of any body, or if
/// velocities hardly keep bodies from falling.
fn energies(bodies: &Bodies, g: f64, softening: f64) -> Option<f64> {
    let n = bodies.len();
    let mass: f64 = bodies.mass.iter().sum();
    let weighted = bodies.mass.iter().zip(&bodies.velocity);
    let mean = weighted.map(|(m, v)| *v * (m / mass)).sum::<DVec3>();
    let kinetic: f64 = (bodies.mass.iter().zip(&bodies.velocity))
        .map(|(m, v)| 0.5 * m * (*v - mean).length_squared())
        .sum();
    // What rounding leaves of a common motion is no motion.
    let rounding = 0.5 * mass * (4.0 * f64::EPSILON * mean.length()).powi(2);
    let kinetic = if kinetic > rounding { kinetic } else { 0.0 };
    if !kinetic.is_finite() {
        return None;
    }
    let sample = (PAIRS / n).clamp(1, n);
    let share = n as f64 / sample as f64;
    let (mut potential, mut all_free) = (0.0, true);
    for k in 0..sample {
        let i = (k as f64 * share) as usize;
        let mut sum = 0.0;
        for j in (0..n).filter(|j| *j != i) {
            let apart = bodies.position[j] - bodies.position[i];
            let distance = apart.length().hypot(softening);
            let pull = g * (bodies.mass[i] + bodies.mass[j]);
            if pull == 0.0 {
                continue;
            }
            sum += bodies.mass[j] / distance;
            let velocity = bodies.velocity[j] - bodies.velocity[i];
            all_free &= is_free(apart, velocity, distance, pull);
        }
        potential += 0.5 * share * g * bodies.mass[i] * sum;
        all_free &= kinetic >= FREE * potential;
        // As the whole potential energy would be if the others of the sample were like those so far.
        let whole = potential * sample as f64 / (k + 1) as f64;
        let cold = kinetic > 0.0 && kinetic < COLD * whole;
        if !all_free && !cold {
            return None;
        }
    }
    Some(kinetic / potential)
}

/// Whether the relative path of two bodies remains almost straight.
fn is_free(apart: DVec3, velocity: DVec3, distance: f64, pull: f64) -> bool {
    let energy = 0.5 * velocity.length_squared() - pull / distance;
    if energy < (FREE - 1.0) * pull / distance {
        return false;
    }
    let turn = apart.cross(velocity).length() / pull;
    let eccentricity = (1.0 + 2.0 * energy * turn * turn).sqrt();
    apart.dot(velocity) >= 0.0 || eccentricity > STRAIGHT
}

/// A warning if the softening length is larger than the distance of two of few bodies.
pub fn softening_above_distance(bodies: &Bodies, softening: f64) -> Option<String> {
    if softening == 0.0 || bodies.len() >= FEW_BODIES {
        return None;
    }
    let (i, j, distance) = nearest_pair(&bodies.position, |i| bodies.mass[i] > 0.0)?;
    (distance < softening).then(|| {
        format!(
            "bodies {i} and {j} are {distance:.4e} apart, less than the softening length {softening}: they move almost as if they did \
             not attract each other; check --softening"
        )
    })
}

/// The announcement of a run of this number of steps, if it is at least `many`.
pub fn many_steps(steps: f64, dt: f64, many: f64) -> Option<String> {
    (steps >= many).then(|| {
        format!(
            "the run has {steps:.3e} steps of {dt} and will take long; check the step and the end, which are in the unit of time of \
             the bodies"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    fn built(model: Model, n: Option<usize>) -> Bodies {
        model.build(n, 1, 1.0, 3).expect("a model")
    }

    fn of(lines: &[[f64; 7]]) -> Bodies {
        let body = |b: &[f64; 7]| (b[0], [b[1], b[2], b[3]], [b[4], b[5], b[6]]);
        lines.iter().map(body).collect()
    }

    /// The sun, the earth and Jupiter in astronomical units, years and solar masses.
    fn planets() -> Bodies {
        of(&[
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [3e-6, 1.0, 0.0, 0.0, 0.0, 6.27, 0.0],
            [9.5e-4, 5.2, 0.0, 0.0, 0.0, 2.755, 0.0],
        ])
    }

    #[test]
    fn a_forgotten_constant_leaves_nothing_bound() {
        let year = 4.0 * std::f64::consts::PI.powi(2);
        let mut light = planets();
        light.mass[1..].fill(0.0);
        let mut moving = planets();
        moving.velocity.iter_mut().for_each(|v| *v += 1e4);
        for bodies in [planets(), light, moving] {
            assert_eq!(doubtful_energies(&bodies, year, 0.0), None);
            for g in [0.0, 6.673e-11, 1.0] {
                let said = doubtful_energies(&bodies, g, 0.0).expect("a warning");
                assert!(said.contains("nothing is bound"), "{said}");
                assert!(said.contains(&format!("G is {g:?}")), "{said}");
            }
        }
    }

    #[test]
    fn ordinary_starts_and_encounters_give_no_warning() {
        for (model, n) in [
            (Model::Plummer, Some(2000)),
            (Model::King { w0: 6.0 }, Some(300)),
            (Model::Sphere { radius: 1.0 }, Some(50)),
            (Model::Burrau, None),
            (Model::FigureEight, None),
        ] {
            let mut bodies = built(model, n);
            assert_eq!(doubtful_energies(&bodies, 1.0, 0.0), None, "{model:?}");
            bodies.velocity.iter_mut().for_each(|v| v.x += 1e6);
            assert_eq!(doubtful_energies(&bodies, 1.0, 0.0), None, "{model:?}");
        }
        // A body from far away that passes within the distance at which it is deflected.
        let mut passing = of(&[[1.0, -100.0, 0.5, 0.0, 1.5, 0.0, 0.0], [1.0; 7]]);
        passing.velocity[1] = DVec3::ZERO;
        assert_eq!(doubtful_energies(&passing, 1.0, 0.0), None);
        passing.velocity[0].x = -1.5;
        assert!(doubtful_energies(&passing, 1.0, 0.0).is_some());
    }

    #[test]
    fn a_constant_that_is_far_too_large_lets_bodies_fall() {
        let mut si = planets();
        si.scale(1.496e11, 1.496e11 / 3.156e7);
        si.mass.iter_mut().for_each(|m| *m *= 1.989e30);
        assert_eq!(doubtful_energies(&si, 6.673e-11, 0.0), None);
        let said = doubtful_energies(&si, 1.0, 0.0).expect("a warning");
        assert!(
            said.contains("fall almost straight") && said.contains("G is 1.0"),
            "{said}"
        );
        // Rest is meant.
        si.velocity.fill(DVec3::ZERO);
        assert_eq!(doubtful_energies(&si, 1.0, 0.0), None);
    }

    #[test]
    fn masses_of_0_attract_nothing() {
        let mut bodies = planets();
        bodies.mass.fill(0.0);
        let said = doubtful_energies(&bodies, 1.0, 0.0).expect("a warning");
        assert!(said.contains("the total mass is 0"), "{said}");
    }

    #[test]
    fn long_runs_are_announced() {
        let said = many_steps(3e10, 0.001, 1e9).expect("an announcement");
        assert!(said.contains("3.000e10 steps of 0.001"), "{said}");
        assert_eq!(many_steps(9e8, 0.001, 1e9), None);
    }

    #[test]
    fn softening_beyond_the_closest_of_few_bodies_is_named() {
        let mut bodies = planets();
        assert_eq!(softening_above_distance(&bodies, 0.9), None);
        let said = softening_above_distance(&bodies, 2.0).expect("a warning");
        assert!(said.contains("bodies 0 and 1"), "{said}");
        // Test bodies do not attract each other.
        bodies.mass[..2].fill(0.0);
        assert_eq!(softening_above_distance(&bodies, 2.0), None);
        let many = built(Model::Plummer, Some(FEW_BODIES));
        assert_eq!(softening_above_distance(&many, 2.0), None);
    }
}
