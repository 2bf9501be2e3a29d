//! Computes in units in which `f32` numbers neither overflow nor lose digits near the end of their range.

use std::sync::Arc;

use super::units::Units;
use super::{Bodies, Engine, LowerParts, Run, Validated};
use trisolar_device::Device;
use trisolar_run::{EngineError, Monitor};

/// An engine whose numbers have other units than the problem.
pub(super) struct Scaled(pub Box<dyn Engine>);

impl Engine for Scaled {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn device(&self) -> String {
        self.0.device()
    }

    fn gpu(&self) -> Option<&Arc<dyn Device>> {
        self.0.gpu()
    }

    fn resume<'a>(
        &'a self,
        problem: &Validated,
        bodies: &Bodies,
        lower: Option<&LowerParts>,
    ) -> Result<Box<dyn Run + 'a>, EngineError> {
        let spec = problem.specification();
        let units = Units::of(problem.bodies(), spec.g, spec.softening);
        let problem = problem.changed(|spec| {
            spec.g = units.g(spec.g);
            spec.softening /= units.length;
            spec.dt /= units.time;
        });
        let [length, speed] = [1.0 / units.length, units.time / units.length];
        let mut bodies = bodies.clone();
        bodies.scale(length, speed);
        let lower = lower.map(|lower| scaled_parts(lower.clone(), [length, speed]));
        let run = self.0.resume(&problem, &bodies, lower.as_ref())?;
        Ok(Box::new(ScaledRun { run, units }))
    }
}

struct ScaledRun<'a> {
    run: Box<dyn Run + 'a>,
    units: Units,
}

impl Run for ScaledRun<'_> {
    fn advance(&mut self, steps: u64, monitor: &dyn Monitor) -> Result<u64, EngineError> {
        self.run.advance(steps, monitor)
    }

    fn bodies(&mut self) -> Result<Bodies, EngineError> {
        let Units { length, time } = self.units;
        let mut bodies = self.run.bodies()?;
        bodies.scale(length, length / time);
        Ok(bodies)
    }

    fn own_steps(&self) -> Option<[u64; 2]> {
        self.run.own_steps()
    }

    fn lower_parts(&self) -> Option<LowerParts> {
        let Units { length, time } = self.units;
        let lower = self.run.lower_parts()?;
        Some(scaled_parts(lower, [length, length / time]))
    }
}

/// Positions and velocities times these powers of two.
fn scaled_parts(mut lower: LowerParts, [length, speed]: [f64; 2]) -> LowerParts {
    let times = |all: &mut [[f32; 3]], factor: f64| {
        for x in all.as_flattened_mut() {
            *x = (f64::from(*x) * factor) as f32;
        }
    };
    times(&mut lower.position, length);
    times(&mut lower.velocity, speed);
    lower
}
