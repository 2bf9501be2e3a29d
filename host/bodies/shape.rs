//! The shape of a cluster: density centre, core radius and Lagrange radii.

use glam::DVec3;
use rayon::prelude::*;

use super::nearest::Nearest;
use super::{Bodies, Shells};

/// Fractions of the mass whose radii [`Shape::lagrange`] holds.
pub const SHAPE_FRACTIONS: [f64; 8] = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9];

/// Number of neighbours that determine the density at a body.
const NEIGHBOURS: usize = 6;

/// The shape of a cluster at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The density centre (Casertano & Hut 1985, with the sixth neighbour); for fewer than 7 bodies the centre of mass.
    pub centre: DVec3,
    /// The core radius (length): √(Σ ρ² r² / Σ ρ²) about the density centre, ρ being the density at a body. NaN for
    /// fewer than 7 bodies.
    pub core_radius: f64,
    /// Radii about the centre that hold [`SHAPE_FRACTIONS`] of the mass (length).
    pub lagrange: [f64; SHAPE_FRACTIONS.len()],
}

impl Shape {
    /// Determines the shape, in a time proportional to n log n for n bodies at different places.
    pub fn of(bodies: &Bodies) -> Self {
        let Bodies { mass, position, .. } = bodies;
        let (centre, core_radius) = if bodies.len() > NEIGHBOURS {
            let density = densities(bodies);
            let centre = weighted_mean(position, &density);
            (centre, core_radius(position, &density, centre))
        } else {
            (weighted_mean(position, mass), f64::NAN)
        };
        Self {
            centre,
            core_radius,
            lagrange: lagrange(bodies, centre),
        }
    }

    /// The radius that holds half of the mass (length).
    pub fn half_mass_radius(&self) -> f64 {
        self.lagrange[5]
    }
}

/// Density at each body: the mass of its five nearest neighbours in the sphere up to the sixth.
fn densities(bodies: &Bodies) -> Vec<f64> {
    let nearest = Nearest::new(&bodies.position);
    let density = |i| {
        let neighbours = nearest.of::<NEIGHBOURS>(i);
        let mass = |j: u32| bodies.mass.get(j as usize).copied().unwrap_or(0.0);
        let within: f64 = neighbours[..NEIGHBOURS - 1].iter().map(|n| mass(n.1)).sum();
        let r2 = neighbours[NEIGHBOURS - 1].0;
        within / (4.0 / 3.0 * std::f64::consts::PI * r2 * r2.sqrt())
    };
    (0..bodies.len()).into_par_iter().map(density).collect()
}

fn weighted_mean(places: &[DVec3], weights: &[f64]) -> DVec3 {
    let total: f64 = weights.iter().sum();
    let weighted = |k: usize| places.iter().zip(weights).map(move |(p, w)| p[k] * w);
    DVec3::from([0, 1, 2].map(|k| weighted(k).sum::<f64>() / total))
}

fn core_radius(places: &[DVec3], density: &[f64], centre: DVec3) -> f64 {
    let (mut above, mut below) = (0.0, 0.0);
    for (place, rho) in places.iter().zip(density) {
        above += rho * rho * place.distance_squared(centre);
        below += rho * rho;
    }
    (above / below).sqrt()
}

fn lagrange(bodies: &Bodies, centre: DVec3) -> [f64; SHAPE_FRACTIONS.len()] {
    let shells = Shells::new(bodies, |x| x.distance_squared(centre));
    let outermost = shells.outermost().unwrap_or(0.0);
    let holding = shells.holding(SHAPE_FRACTIONS, shells.mass());
    holding.map(|r2| r2.unwrap_or(outermost).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(positions: impl IntoIterator<Item = [f64; 3]>, mass: f64) -> Bodies {
        let mut bodies = Bodies::default();
        for position in positions {
            bodies.push(mass, position, DVec3::ZERO);
        }
        bodies
    }

    #[test]
    fn shells_hold_their_share_of_the_mass() {
        // 100 particles of equal mass at distances 1 to 100, on both sides of a displaced centre.
        let places = (0..200).map(|k| {
            let r = f64::from(k / 2 + 1) * if k % 2 == 0 { 1.0 } else { -1.0 };
            [7.0 + r, 0.0, 0.0]
        });
        let radii = lagrange(&bodies(places, 0.005), DVec3::new(7.0, 0.0, 0.0));
        for (radius, fraction) in radii.iter().zip(SHAPE_FRACTIONS) {
            assert!(
                (radius - 100.0 * fraction).abs() <= 1.0,
                "{fraction}: {radius}"
            );
        }
    }

    #[test]
    fn the_density_centre_is_where_the_clump_is() {
        let clump = (0..40).map(f64::from).map(|a| {
            [
                3.0 + 0.01 * a.sin(),
                0.01 * (1.7 * a).cos(),
                0.01 * (2.9 * a).sin(),
            ]
        });
        let others = (0..40).map(|k| [-f64::from(k), f64::from(k * k % 17), 5.0]);
        let shape = Shape::of(&bodies(clump.chain(others), 1.0));
        assert!(
            shape.centre.distance_squared(3.0 * DVec3::X) < 1e-4,
            "{shape:?}"
        );
        assert!(shape.core_radius < 0.03, "{shape:?}");
    }

    #[test]
    fn a_few_particles_have_no_core() {
        let mut bodies = bodies([[1.0, 0.0, 0.0], [-3.0, 0.0, 0.0]], 1.0);
        bodies.mass[0] = 3.0;
        let shape = Shape::of(&bodies);
        assert_eq!(shape.centre, DVec3::ZERO);
        assert!(shape.core_radius.is_nan());
    }
}
