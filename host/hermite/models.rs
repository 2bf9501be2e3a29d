//! Start models: Plummer's sphere and King's truncated ones, in Hénon units (total mass 1, G = 1, energy -1/4, in virial
//! equilibrium, centred); few bodies with known orbits.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::{Body, SpecError};
use trisolar_bodies::{Bodies, Diagnostics, Model};

/// Largest number of bodies whose own potential energy is used; for more bodies it is that of the model.
const MAX_VIRIALISED_BODIES: usize = 65_536;

/// Plummer's sphere, see [`Model::Plummer`].
///
/// # Errors
/// [`SpecError`] for a number of bodies that is not possible.
pub fn plummer(n: usize, seed: u64) -> Result<Vec<Body>, SpecError> {
    let bodies = Model::Plummer
        .build(Some(n), seed, 1.0, 3)
        .map_err(|e| SpecError {
            option: "--n",
            given: n.to_string(),
            allowed: e.to_string(),
        })?;
    Ok(listed(&bodies))
}

/// A model of a fixed number of bodies, G = 1.
///
/// # Errors
/// [`SpecError`] if it has no fixed number.
pub fn few(model: Model) -> Result<Vec<Body>, SpecError> {
    let fail = |allowed: String| SpecError {
        option: "--model",
        given: model.name().into(),
        allowed,
    };
    if model.fixed_count().is_none() {
        return Err(fail("must have a fixed number of bodies".into()));
    }
    let bodies = model
        .build(None, 1, 1.0, 3)
        .map_err(|e| fail(e.to_string()))?;
    Ok(listed(&bodies))
}

fn listed(bodies: &Bodies) -> Vec<Body> {
    (0..bodies.mass.len())
        .map(|i| Body {
            mass: bodies.mass[i],
            position: bodies.position[i],
            velocity: bodies.velocity[i],
        })
        .collect()
}

/// Smallest and largest dimensionless central potential that [`king`] accepts.
pub const W0: [f64; 2] = [0.1, 16.0];

/// A King model (King 1966) with the dimensionless central potential `w0`.
///
/// # Errors
/// [`SpecError`] if `w0` is outside of [`W0`], or for a number of bodies that is not possible.
pub fn king(n: usize, w0: f64, seed: u64) -> Result<Vec<Body>, SpecError> {
    if !(W0[0]..=W0[1]).contains(&w0) {
        return Err(SpecError {
            option: "--w0",
            given: w0.to_string(),
            allowed: format!("must be from {} to {}", W0[0], W0[1]),
        });
    }
    if !(2..=super::spec::MAX_BODIES).contains(&n) {
        return Err(SpecError {
            option: "--n",
            given: n.to_string(),
            allowed: format!("must be from 2 to {}", super::spec::MAX_BODIES),
        });
    }
    let profile = Profile::new(w0);
    let mut random = Uniform(ChaCha8Rng::seed_from_u64(seed));
    let mut bodies = Bodies::default();
    for _ in 0..n {
        let (r, w) = profile.at_mass(random.unit());
        let speed = random.speed(w);
        let (x, v) = (random.direction(r), random.direction(speed));
        bodies.mass.push(1.0 / n as f64);
        bodies.position.push(x);
        bodies.velocity.push(v);
    }
    centre(&mut bodies.position);
    centre(&mut bodies.velocity);
    let kinetic = bodies.velocity.iter().flatten().map(|v| v * v).sum::<f64>() * 0.5 / n as f64;
    let potential = if n <= MAX_VIRIALISED_BODIES {
        Diagnostics::of(&bodies, 1.0, 0.0).potential
    } else {
        profile.potential_energy()
    };
    let lengths = potential / -0.5;
    let speeds = (0.25 / kinetic).sqrt();
    for (vectors, scale) in [
        (&mut bodies.position, lengths),
        (&mut bodies.velocity, speeds),
    ] {
        vectors.iter_mut().flatten().for_each(|x| *x *= scale);
    }
    Ok(listed(&bodies))
}

/// Subtracts the mean.
fn centre(vectors: &mut [[f64; 3]]) {
    for k in 0..3 {
        let mean = vectors.iter().map(|v| v[k]).sum::<f64>() / vectors.len() as f64;
        vectors.iter_mut().for_each(|v| v[k] -= mean);
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

/// Uniform numbers.
struct Uniform(ChaCha8Rng);

impl Uniform {
    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A vector of this length in a random direction.
    fn direction(&mut self, length: f64) -> [f64; 3] {
        let z = 2.0 * self.unit() - 1.0;
        let angle = std::f64::consts::TAU * self.unit();
        let flat = (1.0 - z * z).sqrt();
        [
            length * flat * libm::cos(angle),
            length * flat * libm::sin(angle),
            length * z,
        ]
    }

    /// A speed where the potential is `w`: u² (e^(-u²/2) - e^(-w)) up to the speed of escape √(2w), by rejection.
    fn speed(&mut self, w: f64) -> f64 {
        let (escape, edge) = ((2.0 * w).max(0.0).sqrt(), libm::exp(-w));
        let bound = (2.0 / std::f64::consts::E).min(2.0 * w * (1.0 - edge));
        loop {
            let (u, y) = (escape * self.unit(), bound * self.unit());
            if y <= u * u * (libm::exp(-0.5 * u * u) - edge) {
                return u;
            }
        }
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
            let bodies = king(2000, w0, 3).unwrap();
            let mut all = Bodies::default();
            for body in &bodies {
                all.mass.push(body.mass);
                all.position.push(body.position);
                all.velocity.push(body.velocity);
            }
            let d = Diagnostics::of(&all, 1.0, 0.0);
            assert!((d.kinetic - 0.25).abs() < 1e-12 && (d.potential + 0.5).abs() < 1e-12);
            // Speeds drawn before they were scaled had nearly the right virial ratio: the profile and they agree.
            let profile = Profile::new(w0);
            let mut random = Uniform(ChaCha8Rng::seed_from_u64(1));
            let n = 20_000;
            let kinetic = (0..n)
                .map(|_| {
                    let (_, w) = profile.at_mass(random.unit());
                    0.5 * random.speed(w).powi(2)
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
