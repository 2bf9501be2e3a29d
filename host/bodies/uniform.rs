//! Random numbers of start models.

use glam::DVec3;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Uniform random numbers, the same on every machine for a seed.
pub(super) struct Uniform(ChaCha8Rng);

impl Uniform {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// In [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// In [low, high).
    pub(super) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A vector of this length in a random direction, of the plane z = 0 if `planar`.
    pub(super) fn direction(&mut self, length: f64, planar: bool) -> DVec3 {
        let z = if planar { 0.0 } else { self.within(-1.0, 1.0) };
        let angle = self.within(0.0, std::f64::consts::TAU);
        let flat = (1.0 - z * z).sqrt();
        DVec3::new(
            length * flat * libm::cos(angle),
            length * flat * libm::sin(angle),
            length * z,
        )
    }
}
