//! Diagnostics that show whether a run can be trusted: conserved quantities and the shape of the system.

use glam::DVec3;
use rayon::prelude::*;
use serde::Serialize;

use super::{Bodies, Shells};

/// Fractions of the mass whose radii [`Diagnostics::lagrange`] holds.
pub const LAGRANGE_FRACTIONS: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];

/// Sums over all bodies, in the units of the problem.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnostics {
    /// Σ m v² / 2.
    pub kinetic: f64,
    /// - Σ G mᵢ mⱼ / √(r² + softening²) over pairs.
    pub potential: f64,
    /// The sum of both.
    pub total: f64,
    /// The energy without the motion of the centre of mass, from which the error of a run follows.
    pub internal: f64,
    /// Σ m v.
    pub momentum: [f64; 3],
    /// Σ m x × v, about the origin.
    pub angular_momentum: [f64; 3],
    /// Σ m x / Σ m; not a number without mass.
    pub centre_of_mass: [f64; 3],
    /// Kinetic energy relative to the centre of mass over the magnitude of the potential: 1/2 in equilibrium; not a number without
    /// potential.
    pub virial_ratio: f64,
    /// Radii about the centre of mass that hold [`LAGRANGE_FRACTIONS`] of the mass; not a number without mass.
    pub lagrange: [f64; 5],
}

/// A compensated sum: the rounding errors of the additions are added at the end (Neumaier 1974).
pub fn compensated(terms: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for x in terms {
        let new = sum + x;
        lost += if sum.abs() >= x.abs() {
            (sum - new) + x
        } else {
            (x - new) + sum
        };
        sum = new;
    }
    sum + lost
}

/// The kinetic energy of masses with these velocities, and that of their motion relative to the centre of mass. The latter is a sum over
/// relative velocities: the difference of two large energies would have lost its digits.
pub fn kinetic(bodies: impl Iterator<Item = (f64, DVec3)> + Clone) -> [f64; 2] {
    let mass = compensated(bodies.clone().map(|(m, _)| m));
    let centre = [0, 1, 2].map(|d| compensated(bodies.clone().map(|(m, v)| m * v[d])) / mass);
    let centre = match mass > 0.0 {
        true => DVec3::from(centre),
        false => DVec3::ZERO,
    };
    [DVec3::ZERO, centre].map(|of| {
        let energy = |(m, v): (f64, DVec3)| 0.5 * m * (v - of).length_squared();
        compensated(bodies.clone().map(energy))
    })
}

impl Diagnostics {
    /// Computes the diagnostics of these bodies. The order of the sums does not depend on the number of threads; the potential takes a
    /// time proportional to n².
    pub fn of(bodies: &Bodies, g: f64, softening: f64) -> Self {
        let [kinetic, relative] = kinetic(
            bodies
                .mass
                .iter()
                .copied()
                .zip(bodies.velocity.iter().copied()),
        );
        let potential = potential(bodies, g, softening);
        let weighted = |f: &dyn Fn(usize) -> f64| {
            compensated((0..bodies.len()).map(|i| bodies.mass[i] * f(i)))
        };
        let (x, v) = (&bodies.position, &bodies.velocity);
        let momentum = [0, 1, 2].map(|d| weighted(&|i| v[i][d]));
        let angular_momentum = [0, 1, 2].map(|d| {
            let (e, f) = ((d + 1) % 3, (d + 2) % 3);
            weighted(&|i| x[i][e] * v[i][f] - x[i][f] * v[i][e])
        });
        let mass = compensated(bodies.mass.iter().copied());
        let centre_of_mass = [0, 1, 2].map(|d| weighted(&|i| x[i][d]) / mass);
        Self {
            kinetic,
            potential,
            total: kinetic + potential,
            internal: relative + potential,
            momentum,
            angular_momentum,
            centre_of_mass,
            virial_ratio: relative / potential.abs(),
            lagrange: lagrange(bodies, mass, centre_of_mass),
        }
    }
}

/// The potential energy, a row of pairs at a time.
fn potential(bodies: &Bodies, g: f64, softening: f64) -> f64 {
    let n = bodies.len();
    let row = |i: usize| {
        let (x, m) = (bodies.position[i], bodies.mass[i]);
        let mut sum = 0.0;
        for j in i + 1..n {
            let r2 = (bodies.position[j] - x).length_squared() + softening * softening;
            // A test body adds nothing at any distance.
            if bodies.mass[j] != 0.0 {
                sum += bodies.mass[j] / r2.sqrt();
            }
        }
        if m == 0.0 { 0.0 } else { -g * m * sum }
    };
    // Starting a thread takes longer than a few pairs.
    let rows: Vec<f64> = if n < 256 {
        (0..n).map(row).collect()
    } else {
        (0..n).into_par_iter().with_min_len(16).map(row).collect()
    };
    compensated(rows)
}

fn lagrange(bodies: &Bodies, mass: f64, centre: [f64; 3]) -> [f64; 5] {
    let centre = DVec3::from(centre);
    let shells = Shells::new(bodies, |x| x.distance(centre));
    let holding = shells.holding(LAGRANGE_FRACTIONS, mass);
    holding.map(|r| r.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bodies_have_the_energies_of_the_textbook() {
        let bodies = Bodies {
            mass: vec![2.0, 3.0],
            position: vec![DVec3::ZERO, DVec3::new(3.0, 0.0, 4.0)],
            velocity: vec![DVec3::X, 2.0 * DVec3::Y],
        };
        let d = Diagnostics::of(&bodies, 10.0, 0.0);
        assert_eq!(d.kinetic, 1.0 + 6.0);
        assert_eq!(d.potential, -10.0 * 6.0 / 5.0);
        assert_eq!(d.total, d.kinetic + d.potential);
        assert_eq!(d.momentum, [2.0, 6.0, 0.0]);
        // (3, 0, 4) × (0, 6, 0)
        assert_eq!(d.angular_momentum, [-24.0, 0.0, 18.0]);
        assert_eq!(d.centre_of_mass, [9.0 / 5.0, 0.0, 12.0 / 5.0]);
        // The centre moves with (0.4, 1.2).
        assert!((d.internal - (7.0 - 2.5 * 1.6 - 12.0)).abs() < 1e-14);
        assert!((d.virial_ratio - 3.0 / 12.0).abs() < 1e-15);
        // 3/5 of the mass lies 2 from the centre, the rest 3.
        assert_eq!(d.lagrange, [2.0, 2.0, 2.0, 3.0, 3.0]);
    }

    #[test]
    fn test_bodies_add_no_energy_even_at_a_mass() {
        let bodies = Bodies {
            mass: vec![0.0, 1.0, 1.0],
            position: vec![DVec3::ZERO, DVec3::ZERO, DVec3::X],
            velocity: vec![DVec3::splat(9.0), DVec3::ZERO, DVec3::ZERO],
        };
        let d = Diagnostics::of(&bodies, 1.0, 0.0);
        assert_eq!((d.kinetic, d.potential), (0.0, -1.0));
        let mut behind = bodies;
        behind.mass.swap(0, 1);
        let d = Diagnostics::of(&behind, 1.0, 0.0);
        assert_eq!(d.potential, -1.0);
    }

    #[test]
    fn the_motion_of_the_whole_changes_no_internal_energy() {
        let at_rest = Bodies {
            mass: vec![1.0, 3.0],
            position: vec![DVec3::ZERO, DVec3::X],
            velocity: vec![1.5 * DVec3::Y, -0.5 * DVec3::Y],
        };
        let known = Diagnostics::of(&at_rest, 1.0, 0.0);
        assert_eq!((known.internal, known.virial_ratio), (known.total, 0.5));
        for speed in [1.0, 1e3, 1e6] {
            let mut moving = at_rest.clone();
            moving
                .velocity
                .iter_mut()
                .for_each(|v| *v += DVec3::splat(speed));
            let found = Diagnostics::of(&moving, 1.0, 0.0);
            let rounded = 4.0 * speed * f64::EPSILON;
            assert!((found.internal - known.internal).abs() < rounded, "{speed}");
        }
    }
}
