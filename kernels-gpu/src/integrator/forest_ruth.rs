//! Forest–Ruth: fourth order, three evaluations per step, symplectic (Forest & Ruth 1990, Physica D 43, 105).

use super::{General, Integrator, System, SystemIntegrator};

/// θ = 1 / (2 - 2^(1/3)).
const THETA: f64 = 1.351_207_191_959_657_6;

/// The alternating drifts and kicks as fractions of dt; there is one more drift than kicks.
const DRIFTS: [f64; 4] = [
    0.5 * THETA,
    0.5 * (1.0 - THETA),
    0.5 * (1.0 - THETA),
    0.5 * THETA,
];
const KICKS: [f64; 3] = [THETA, 1.0 - 2.0 * THETA, THETA];

/// Fourth order, three evaluations per step, symplectic.
#[derive(Clone, Copy, Debug)]
pub struct ForestRuth;

impl Integrator for ForestRuth {
    const NAME: &'static str = "forest-ruth";
    const HELP: &'static str = "order 4, symplectic, costs three times as much";
    const ORDER: u32 = 4;
    const EVALUATIONS: u32 = 3;
    type OnMaps = General<Self, 0, 0>;
}

impl SystemIntegrator for ForestRuth {
    #[inline(always)]
    fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        s.drift(DRIFTS[0] * dt)?;
        let mut stage = 0;
        while stage < 3 {
            s.accelerate()?;
            s.kick_drift(KICKS[stage] * dt, DRIFTS[stage + 1] * dt)?;
            stage += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theta_is_the_root_of_its_equation() {
        assert!((THETA * (2.0 - 2.0_f64.cbrt()) - 1.0).abs() < 1.0e-15);
        assert!((DRIFTS.iter().sum::<f64>() - 1.0).abs() < 1.0e-15);
        assert!((KICKS.iter().sum::<f64>() - 1.0).abs() < 1.0e-15);
    }
}
