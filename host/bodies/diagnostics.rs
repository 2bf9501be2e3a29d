//! Diagnostics that show whether a run can be trusted: conserved quantities and the shape of the system.

use glam::DVec3;
use rayon::prelude::*;
use serde::Serialize;

use super::{Bodies, Shells};

/// Fractions of the mass whose radii [`Diagnostics::lagrange`] holds.
pub const LAGRANGE_FRACTIONS: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];

/// Sums over all bodies, in the units of the problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostics {
    /// Σ m v² / 2.
    pub kinetic: f64,
    /// - Σ G mᵢ mⱼ / √(r² + softening²) over pairs.
    pub potential: f64,
    /// The sum of both.
    pub total: f64,
    /// Σ m v.
    pub momentum: [f64; 3],
    /// Σ m x × v, about the origin.
    pub angular_momentum: [f64; 3],
    /// Σ m x / Σ m; not a number without mass.
    pub centre_of_mass: [f64; 3],
    /// Kinetic energy over the magnitude of the potential: 1/2 in equilibrium; not a number without potential.
    pub virial_ratio: f64,
    /// Radii about the centre of mass that hold [`LAGRANGE_FRACTIONS`] of the mass; not a number without mass.
    pub lagrange: [f64; 5],
}

/// The error of a total energy relative to the magnitude of that at the start. `parts` is the sum of the magnitudes of the start's
/// kinetic and potential energy: where they cancel to less than a hundredth of it, as near a parabola, the error is relative to that
/// sum.
pub fn relative_error(total: f64, start: f64, parts: f64) -> f64 {
    relative_change(start, total, start, parts)
}

/// A change of the energy, relative to the same scale as [`relative_error`].
pub fn relative_change(from: f64, to: f64, start: f64, parts: f64) -> f64 {
    if from == to {
        return 0.0;
    }
    (to - from) / start.abs().max(0.01 * parts)
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

impl Diagnostics {
    /// Computes the diagnostics of these bodies. The order of the sums does not depend on the number of threads; the potential takes a
    /// time proportional to n².
    pub fn of(bodies: &Bodies, g: f64, softening: f64) -> Self {
        let kinetic = compensated(
            bodies
                .mass
                .iter()
                .zip(&bodies.velocity)
                .map(|(m, v)| 0.5 * m * v.length_squared()),
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
            momentum,
            angular_momentum,
            centre_of_mass,
            virial_ratio: kinetic / potential.abs(),
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
        assert_eq!(d.virial_ratio, 7.0 / 12.0);
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
    fn errors_are_relative_to_the_start_unless_its_parts_cancel() {
        assert_eq!(relative_error(-0.1875, -0.25, 0.75), 0.25);
        assert_eq!(relative_error(-0.3125, -0.25, 0.75), -0.25);
        // A parabola.
        assert!((relative_error(1e-6, 0.0, 2.0) - 5e-5).abs() < 1e-18);
        // Bodies at rest without mass.
        assert_eq!(relative_error(0.0, 0.0, 0.0), 0.0);
        assert!(relative_error(f64::NAN, -0.25, 0.75).is_nan());
    }
}
