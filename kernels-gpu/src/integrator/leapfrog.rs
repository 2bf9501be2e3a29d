//! Leapfrog, drift–kick–drift: second order, symplectic, time-reversible (Hockney & Eastwood 1988, §4-4).

use super::System;

/// One step of `dt`: accelerations are those of the middle.
///
/// # Errors
/// What the system says.
pub fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
    s.drift(0.5 * dt)?;
    s.accelerate()?;
    s.kick_drift(dt, 0.5 * dt)
}
