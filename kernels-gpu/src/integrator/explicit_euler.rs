//! Explicit Euler: first order, x advances with the old v. The textbook's order: forces, then x += dt·v, then v += dt·a.

use super::System;

/// One step of `dt`.
///
/// # Errors
/// What the system says.
pub fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
    s.accelerate()?;
    s.drift(dt)?;
    s.kick(dt)
}
