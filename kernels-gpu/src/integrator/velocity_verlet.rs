//! Velocity Verlet, kick–drift–kick: second order, symplectic, time-reversible (Swope et al. 1982, J. Chem. Phys. 76, 637).

use super::System;

/// Before the first step: the accelerations of the start.
///
/// # Errors
/// What the system says.
pub fn start<S: System>(s: &mut S) -> Result<(), S::Error> {
    s.accelerate()
}

/// One step of `dt`, from the accelerations of the positions it begins with; leaves those it ends with.
///
/// # Errors
/// What the system says.
pub fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
    s.kick_drift(0.5 * dt, dt)?;
    s.accelerate()?;
    s.kick(0.5 * dt)
}
