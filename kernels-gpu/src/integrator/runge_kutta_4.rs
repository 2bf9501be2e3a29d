//! The classical Runge–Kutta method: fourth order, not symplectic (Kutta 1901, Z. Math. Phys. 46, 435).

use super::System;

/// One step of `dt`.
///
/// # Errors
/// What the system says.
pub fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
    s.rk_begin()?;
    for (weight, h) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)] {
        s.accelerate()?;
        s.rk_stage(weight, h * dt)?;
    }
    s.rk_end(dt / 6.0)
}
