//! The shape of a cluster: density centre, core radius and Lagrange radii.

use rayon::prelude::*;

use super::Star;

/// Fractions of the mass for which Lagrange radii are computed.
pub const LAGRANGE_FRACTIONS: [f64; 8] = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9];

/// Number of neighbours that determine the density at a particle.
const NEIGHBOURS: usize = 6;

/// The shape of a cluster at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The density centre (Casertano & Hut 1985, with the sixth neighbour); for fewer than 7 particles the centre of mass.
    pub centre: [f64; 3],
    /// The core radius (length): √(Σ ρ² r² / Σ ρ²) about the density centre, ρ being the density at a particle. NaN for
    /// fewer than 7 particles.
    pub core_radius: f64,
    /// Radii about the centre that hold [`LAGRANGE_FRACTIONS`] of the mass (length).
    pub lagrange: [f64; LAGRANGE_FRACTIONS.len()],
}

impl Shape {
    /// Determines the shape from particles at one time, in a time proportional to the square of their number.
    pub fn of(stars: &[Star]) -> Self {
        let places: Vec<[f64; 3]> = stars.iter().map(position).collect();
        let (centre, core_radius) = if stars.len() > NEIGHBOURS {
            let density = densities(stars, &places);
            let centre = weighted_mean(&places, &density);
            (centre, core_radius(&places, &density, centre))
        } else {
            let mass: Vec<f64> = stars.iter().map(|s| s.mass).collect();
            (weighted_mean(&places, &mass), f64::NAN)
        };
        Self {
            centre,
            core_radius,
            lagrange: lagrange(stars, &places, centre),
        }
    }

    /// The radius that holds half of the mass (length).
    pub fn half_mass_radius(&self) -> f64 {
        self.lagrange[5]
    }
}

fn position(star: &Star) -> [f64; 3] {
    let p = star.taylor[0];
    [p.x, p.y, p.z]
}

fn distance2(a: [f64; 3], b: [f64; 3]) -> f64 {
    let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
}

/// Density at each particle: the mass of its five nearest neighbours in the sphere up to the sixth.
fn densities(stars: &[Star], places: &[[f64; 3]]) -> Vec<f64> {
    let density = |(i, here): (usize, &[f64; 3])| {
        // The nearest particles so far, in ascending order of distance.
        let mut nearest = [(f64::INFINITY, 0.0); NEIGHBOURS];
        for (j, there) in places.iter().enumerate() {
            let d2 = distance2(*here, *there);
            if d2 < nearest[NEIGHBOURS - 1].0 && j != i {
                let at = nearest
                    .iter()
                    .position(|n| d2 < n.0)
                    .unwrap_or(NEIGHBOURS - 1);
                nearest.copy_within(at..NEIGHBOURS - 1, at + 1);
                nearest[at] = (d2, stars[j].mass);
            }
        }
        let within: f64 = nearest[..NEIGHBOURS - 1].iter().map(|n| n.1).sum();
        let r2 = nearest[NEIGHBOURS - 1].0;
        within / (4.0 / 3.0 * std::f64::consts::PI * r2 * r2.sqrt())
    };
    places.par_iter().enumerate().map(density).collect()
}

fn weighted_mean(places: &[[f64; 3]], weights: &[f64]) -> [f64; 3] {
    let total: f64 = weights.iter().sum();
    std::array::from_fn(|k| {
        places
            .iter()
            .zip(weights)
            .map(|(p, w)| p[k] * w)
            .sum::<f64>()
            / total
    })
}

fn core_radius(places: &[[f64; 3]], density: &[f64], centre: [f64; 3]) -> f64 {
    let (mut above, mut below) = (0.0, 0.0);
    for (place, rho) in places.iter().zip(density) {
        above += rho * rho * distance2(*place, centre);
        below += rho * rho;
    }
    (above / below).sqrt()
}

fn lagrange(
    stars: &[Star],
    places: &[[f64; 3]],
    centre: [f64; 3],
) -> [f64; LAGRANGE_FRACTIONS.len()] {
    let mut shells: Vec<(f64, f64)> = (places.iter().zip(stars))
        .map(|(place, star)| (distance2(*place, centre), star.mass))
        .collect();
    shells.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = shells.iter().map(|s| s.1).sum();
    let mut radii = [0.0; LAGRANGE_FRACTIONS.len()];
    let mut within = 0.0;
    let mut next = 0;
    for (r2, mass) in &shells {
        within += mass;
        while next < radii.len() && within >= LAGRANGE_FRACTIONS[next] * total {
            radii[next] = r2.sqrt();
            next += 1;
        }
    }
    let outermost = shells.last().map_or(0.0, |s| s.0.sqrt());
    radii[next..].fill(outermost);
    radii
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels_gpu::Vec3;

    fn star(position: [f64; 3], mass: f64) -> Star {
        let mut taylor = [Vec3 {
            x: 0.0,
            y: 0.0,
            z: 0.0,
        }; 10];
        taylor[0] = Vec3 {
            x: position[0],
            y: position[1],
            z: position[2],
        };
        Star {
            mass,
            time: 0.0,
            step: 0.0,
            taylor,
        }
    }

    #[test]
    fn shells_hold_their_share_of_the_mass() {
        // 100 particles of equal mass at distances 1 to 100, on both sides of a displaced centre.
        let stars: Vec<Star> = (0..200)
            .map(|k| {
                let r = f64::from(k / 2 + 1) * if k % 2 == 0 { 1.0 } else { -1.0 };
                star([7.0 + r, 0.0, 0.0], 0.005)
            })
            .collect();
        let shape = Shape {
            centre: [7.0, 0.0, 0.0],
            ..Shape::of(&stars)
        };
        let radii = lagrange(
            &stars,
            &stars.iter().map(position).collect::<Vec<_>>(),
            shape.centre,
        );
        for (radius, fraction) in radii.iter().zip(LAGRANGE_FRACTIONS) {
            assert!(
                (radius - 100.0 * fraction).abs() <= 1.0,
                "{fraction}: {radius}"
            );
        }
    }

    #[test]
    fn the_density_centre_is_where_the_clump_is() {
        let mut stars: Vec<Star> = (0..40)
            .map(|k| {
                let a = f64::from(k);
                star(
                    [
                        3.0 + 0.01 * a.sin(),
                        0.01 * (1.7 * a).cos(),
                        0.01 * (2.9 * a).sin(),
                    ],
                    1.0,
                )
            })
            .collect();
        stars.extend((0..40).map(|k| star([-f64::from(k), f64::from(k * k % 17), 5.0], 1.0)));
        let shape = Shape::of(&stars);
        assert!(distance2(shape.centre, [3.0, 0.0, 0.0]) < 1e-4, "{shape:?}");
        assert!(shape.core_radius < 0.03, "{shape:?}");
    }

    #[test]
    fn a_few_particles_have_no_core() {
        let shape = Shape::of(&[star([1.0, 0.0, 0.0], 3.0), star([-3.0, 0.0, 0.0], 1.0)]);
        assert_eq!(shape.centre, [0.0; 3]);
        assert!(shape.core_radius.is_nan());
    }
}
