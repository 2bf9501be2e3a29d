//! Semi-implicit Euler: first order and symplectic, x advances with the new v. What the vendor's sample integrates with.

use super::System;

/// One step of `dt`.
///
/// # Errors
/// What the system says.
pub fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
    s.accelerate()?;
    s.kick_drift(dt, dt)
}
