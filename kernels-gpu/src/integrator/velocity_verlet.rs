//! Velocity Verlet, kick–drift–kick: second order, one evaluation per step, symplectic and time-reversible (Swope et al. 1982, J.
//! Chem. Phys. 76, 637).

use super::{General, Integrator, System, SystemIntegrator};

/// Second order, one evaluation per step, symplectic and time-reversible.
#[derive(Clone, Copy, Debug)]
pub struct VelocityVerlet;

impl Integrator for VelocityVerlet {
    const NAME: &'static str = "velocity-verlet";
    const HELP: &'static str =
        "order 2, symplectic, the positions of leapfrog, costs a little more";
    const ORDER: u32 = 2;
    const EVALUATIONS: u32 = 1;
    type OnMaps = General<Self, 1, 0>;
}

/// A step begins with the accelerations at the end of the previous one.
impl SystemIntegrator for VelocityVerlet {
    #[inline(always)]
    fn prepare<S: System>(s: &mut S) -> Result<(), S::Error> {
        s.accelerate()
    }

    #[inline(always)]
    fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        s.kick_drift(0.5 * dt, dt)?;
        s.accelerate()?;
        s.kick(0.5 * dt)
    }
}
