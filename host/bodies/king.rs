//! King's models (King 1966).

use super::uniform::Uniform;
use super::{Bodies, Diagnostics, numbers};

/// Least and greatest dimensionless central potential of a King model.
pub const KING_W0: [f64; 2] = [0.1, 16.0];

/// A model of `n` equal masses with the dimensionless central potential `w0`, in Hénon units. If `n` is at most `most_pairwise`, lengths
/// are scaled by the potential energy of the bodies themselves, otherwise by that of the model.
pub(super) fn king(n: usize, w0: f64, seed: u64, g: f64, most_pairwise: usize) -> Bodies {
    let profile = Profile::new(w0);
    let mut random = Uniform::new(seed);
    let mut bodies = Bodies::default();
    for _ in 0..n {
        let (r, w) = profile.at_mass(random.unit());
        let speed = speed(&mut random, w);
        let x = random.direction(r, false);
        bodies.push(1.0 / n as f64, x, random.direction(speed, false));
    }
    // The masses are equal: these are the means without the rounding of products with them.
    for vectors in [&mut bodies.position, &mut bodies.velocity] {
        for k in 0..3 {
            let mean = vectors.iter().map(|v| v[k]).sum::<f64>() / n as f64;
            vectors.iter_mut().for_each(|v| v[k] -= mean);
        }
    }
    let squares = numbers(&bodies.velocity).iter().map(|v| v * v);
    let kinetic = squares.sum::<f64>() * 0.5 / n as f64;
    let potential = if n <= most_pairwise {
        Diagnostics::of(&bodies, 1.0, 0.0).potential
    } else {
        profile.potential_energy()
    };
    bodies.scale(potential / -0.5, (0.25 * g.max(0.0) / kinetic).sqrt());
    bodies
}

/// A speed where the potential is `w`: u² (e^(-u²/2) - e^(-w)) up to the speed of escape √(2w), by rejection.
fn speed(random: &mut Uniform, w: f64) -> f64 {
    let (escape, edge) = ((2.0 * w).max(0.0).sqrt(), libm::exp(-w));
    let bound = (2.0 / std::f64::consts::E).min(2.0 * w * (1.0 - edge));
    loop {
        let (u, y) = (escape * random.unit(), bound * random.unit());
        if y <= u * u * (libm::exp(-0.5 * u * u) - edge) {
            return u;
        }
    }
}

/// Density of King's distribution function where the potential is `w` above that at the edge, in any unit.
fn density(w: f64) -> f64 {
    if w <= 0.0 {
        return 0.0;
    }
    if w < 0.01 {
        // The leading terms of the expression below, which cancel for small w: the series of e^w erf(√w) - √(4w/π) (1 + 2w/3).
        let k = 8.0 / (15.0 * std::f64::consts::PI.sqrt());
        return k * w * w * w.sqrt() * (1.0 + 2.0 * w / 7.0 + 4.0 * w * w / 63.0);
    }
    libm::exp(w) * libm::erf(w.sqrt())
        - (4.0 * w / std::f64::consts::PI).sqrt() * (1.0 + 2.0 / 3.0 * w)
}

/// A King model by radius, in units of King's core radius.
struct Profile {
    /// Radius, potential, and mass within, from the centre to the edge.
    shells: Vec<[f64; 3]>,
}

impl Profile {
    /// Solves W″ + 2 W′/r = -9 ρ(W)/ρ(W₀) from the centre outwards by Runge and Kutta's method of order 4.
    fn new(w0: f64) -> Self {
        let central = density(w0);
        let slopes = |r: f64, y: [f64; 2]| {
            let source = -9.0 * density(y[0]) / central;
            let second = if r == 0.0 {
                source / 3.0
            } else {
                source - 2.0 * y[1] / r
            };
            [y[1], second]
        };
        let mut shells = vec![[0.0, w0, 0.0]];
        let (mut r, mut y) = (0.0, [w0, 0.0]);
        while y[0] > 0.0 {
            // A thousandth of the radius, and of the core within it.
            let h = 1e-3 * f64::max(r, 1.0);
            let plus = |k: [f64; 2], f: f64| [y[0] + f * k[0], y[1] + f * k[1]];
            let a = slopes(r, y);
            let b = slopes(r + 0.5 * h, plus(a, 0.5 * h));
            let c = slopes(r + 0.5 * h, plus(b, 0.5 * h));
            let d = slopes(r + h, plus(c, h));
            let next: [f64; 2] =
                std::array::from_fn(|k| y[k] + h / 6.0 * (a[k] + 2.0 * b[k] + 2.0 * c[k] + d[k]));
            if next[0] <= 0.0 {
                // The edge is between this shell and the next.
                let edge = r + h * y[0] / (y[0] - next[0]);
                shells.push([edge, 0.0, -edge * edge * next[1]]);
                break;
            }
            (r, y) = (r + h, next);
            shells.push([r, y[0], -r * r * y[1]]);
        }
        let total = shells.last().expect("the centre at least")[2];
        shells.iter_mut().for_each(|s| s[2] /= total);
        Self { shells }
    }

    /// Radius and potential that hold this share of the mass.
    fn at_mass(&self, share: f64) -> (f64, f64) {
        let above = self.shells.partition_point(|s| s[2] <= share);
        let [a, b] = [
            self.shells[above - 1],
            self.shells[above.min(self.shells.len() - 1)],
        ];
        // Near the centre the mass grows as the volume.
        let cube = |r: f64| r * r * r;
        let between = if b[2] > a[2] {
            (share - a[2]) / (b[2] - a[2])
        } else {
            0.0
        };
        let r = libm::cbrt(cube(a[0]) + between * (cube(b[0]) - cube(a[0])));
        let t = if b[0] > a[0] {
            (r - a[0]) / (b[0] - a[0])
        } else {
            0.0
        };
        (r, a[1] + t * (b[1] - a[1]))
    }

    /// Potential energy of the total mass 1 with G = 1: -∫ m dm / r.
    fn potential_energy(&self) -> f64 {
        let middle = |w: &[[f64; 3]]| {
            let (m, r) = (0.5 * (w[0][2] + w[1][2]), 0.5 * (w[0][0] + w[1][0]));
            m / r * (w[1][2] - w[0][2])
        };
        -self.shells.windows(2).map(middle).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_concentration_of_kings_models_is_that_of_his_table() {
        // log10 of the edge in core radii (King 1966; Binney & Tremaine 2008, figure 4.9).
        for (w0, known) in [(3.0, 0.672), (6.0, 1.255), (9.0, 2.120), (12.0, 2.739)] {
            let edge = Profile::new(w0).shells.last().unwrap()[0];
            assert!(
                (edge.log10() - known).abs() < 2e-3,
                "{w0}: {}",
                edge.log10()
            );
        }
    }

    #[test]
    fn a_king_model_is_in_virial_equilibrium_and_within_its_edge() {
        for w0 in [1.0, 6.0, 12.0] {
            for g in [1.0, 2.5] {
                let bodies = king(2000, w0, 3, g, 2000);
                let d = Diagnostics::of(&bodies, g, 0.0);
                assert!((d.kinetic / g - 0.25).abs() < 1e-12);
                assert!((d.potential / g + 0.5).abs() < 1e-12);
            }
            // Speeds drawn before they were scaled had nearly the right virial ratio: the profile and they agree.
            let profile = Profile::new(w0);
            let mut random = Uniform::new(1);
            let n = 20_000;
            let kinetic = (0..n)
                .map(|_| {
                    let (_, w) = profile.at_mass(random.unit());
                    0.5 * speed(&mut random, w).powi(2)
                })
                .sum::<f64>()
                / f64::from(n);
            // W is in units of σ², and W = -Φ σ⁻²: the same potential as -∫ m dm / r with the mass of the profile,
            // G m = -r² W′ at the edge.
            let edge = profile.shells[profile.shells.len() - 1];
            let before = profile.shells[profile.shells.len() - 2];
            let mass = edge[0] * before[0] * (before[1] - edge[1]) / (edge[0] - before[0]);
            let ratio = kinetic / (-mass * profile.potential_energy());
            assert!((ratio - 0.5).abs() < 0.02, "{w0}: {ratio}");
        }
    }

    #[test]
    fn small_depths_have_the_density_of_the_series() {
        let [below, above] = [0.00999, 0.01001].map(|w: f64| density(w) / w.powf(2.5));
        assert!((below / above - 1.0).abs() < 1e-4, "{below} {above}");
    }
}
