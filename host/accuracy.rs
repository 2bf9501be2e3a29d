//! The energy error of N-body runs and clusters, and the limit above which it is a warning.
//!
//! The counterpart for maps is [`Resolution`](crate::divergence::Resolution).

use kernels_gpu::Vec3;

use crate::hermite::{self, HermiteError, Order, Star};
use crate::nbody::{self, Bodies, Diagnostics, Specification, relative_change, relative_error};
use crate::near::nearest_pair;
use crate::run::EngineError;
use crate::run::Workers;

/// The relative energy error above which there is a warning.
pub const ENERGY_LIMIT: f64 = 0.01;

/// Above this number of bodies, energies are not summed in the order of [`Diagnostics`] but by the vector units of a CPU, or a GPU.
const MANY: usize = 20_000;

/// Kinetic and potential energy (mass · length² / time²).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energies {
    /// Σ m v² / 2.
    pub kinetic: f64,
    /// - Σ G mᵢ mⱼ / √(r² + softening²) over pairs.
    pub potential: f64,
}

impl Energies {
    /// The sum.
    pub fn total(&self) -> f64 {
        self.kinetic + self.potential
    }

    /// The sum of the magnitudes.
    pub fn parts(&self) -> f64 {
        self.kinetic.abs() + self.potential.abs()
    }
}

impl From<&Diagnostics> for Energies {
    fn from(d: &Diagnostics) -> Self {
        Self {
            kinetic: d.kinetic,
            potential: d.potential,
        }
    }
}

/// The relative energy error of a run, see [`relative_error`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnergyError {
    start: f64,
    parts: f64,
    last: f64,
    largest: f64,
}

impl EnergyError {
    /// For a run that starts with the total energy `start`; `parts` is the sum of the magnitudes of its kinetic and potential
    /// energy.
    pub fn new(start: f64, parts: f64) -> Self {
        Self {
            start,
            parts,
            last: 0.0,
            largest: 0.0,
        }
    }

    /// A change of the total energy, relative to the same energy as the error.
    pub fn change(&self, from: f64, to: f64) -> f64 {
        relative_change(from, to, self.start, self.parts)
    }

    /// Records the total energy at a later time and returns its relative error.
    pub fn look(&mut self, total: f64) -> f64 {
        self.last = relative_error(total, self.start, self.parts);
        if self.last.abs() > self.largest.abs() {
            self.largest = self.last;
        }
        self.last
    }

    /// The latest error.
    pub fn last(&self) -> f64 {
        self.last
    }

    /// The error of the largest magnitude so far.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// A warning if the largest error exceeds [`ENERGY_LIMIT`]; `advice` tells the user what to do.
    pub fn warning(&self, advice: &str) -> Option<String> {
        (self.largest.abs() > ENERGY_LIMIT).then(|| {
            let before = if self.largest == self.last {
                String::new()
            } else {
                format!(" (at most {:+.2e} on the way)", self.largest)
            };
            format!(
                "the relative error of the energy is {:+.2e}{before}, above {ENERGY_LIMIT}: the trajectories are not reliable; {advice}",
                self.last
            )
        })
    }

    /// Checks that the largest error does not exceed the user's limit, if there is one.
    ///
    /// # Errors
    /// A message that names both.
    pub fn check(&self, most: Option<f64>) -> Result<(), String> {
        match most {
            Some(most) if self.largest.abs() > most => Err(format!(
                "the relative error of the energy is {:+.3e}, above --max-error {most}",
                self.largest
            )),
            _ => Ok(()),
        }
    }
}

/// The energies of the bodies of a run on `engine`: evaluated on its GPU, if it has one, or by this number of CPU threads (`None`: as
/// many as the process may use). Takes a time proportional to the square of the number of bodies: some 10⁹ pairs a second on a
/// CPU core, 10¹¹ on a GPU.
///
/// # Errors
/// [`EngineError`] of the device.
pub fn energies(
    bodies: &Bodies,
    specification: &Specification,
    engine: &dyn nbody::Engine,
    threads: Option<usize>,
) -> Result<Energies, EngineError> {
    let (g, softening) = (specification.g, specification.softening);
    if bodies.len() <= MANY {
        let workers = Workers::new(threads)?;
        let found = workers.install(|| Diagnostics::of(bodies, g, softening));
        return Ok(Energies::from(&found));
    }
    let found = (|| {
        if let Some(gpu) = engine.gpu() {
            let mut on_gpu = hermite::on_devices(vec![gpu.clone()], Workers::new(threads)?);
            return by_engine(bodies, g, softening, on_gpu.as_mut());
        }
        let mut on_cpu = hermite::CpuEngine::new(threads)?;
        by_engine(bodies, g, softening, &mut on_cpu)
    })();
    found.map_err(|error| match error {
        HermiteError::Engine(error) => error,
        other => EngineError::Sink(other.to_string()),
    })
}

/// By an engine for clusters, which can evaluate potentials on any device.
fn by_engine(
    bodies: &Bodies,
    g: f64,
    softening: f64,
    engine: &mut dyn hermite::Engine,
) -> Result<Energies, HermiteError> {
    let vector = |[x, y, z]: [f64; 3]| Vec3 { x, y, z };
    let mut stars: Vec<Star> = (0..bodies.len())
        .map(|i| {
            let mut taylor = [vector([0.0; 3]); kernels_gpu::physics::hermite::TERMS];
            taylor[0] = vector(bodies.position[i]);
            taylor[1] = vector(bodies.velocity[i]);
            Star {
                mass: g * bodies.mass[i],
                time: 0.0,
                step: 0.0,
                taylor,
            }
        })
        .collect();
    let softened = hermite::Specification {
        softening,
        ..hermite::Specification::new(Order::Four)
    };
    engine.load(&softened, &stars)?;
    engine.predict(0.0)?;
    let mut potentials = vec![0.0; stars.len()];
    engine.potentials(&mut potentials)?;
    // Potentials contain G already.
    for (star, mass) in stars.iter_mut().zip(&bodies.mass) {
        star.mass = *mass;
    }
    let found = hermite::Cluster::energy_of(&stars, &potentials);
    Ok(Energies {
        kinetic: found.kinetic,
        potential: found.potential,
    })
}

/// The message about an energy that is not finite although all coordinates are; `when` is the step or time.
pub fn no_energy(when: &str, total: f64, bodies: &Bodies) -> String {
    let pair = nearest_pair(&bodies.position).map_or(String::new(), |(i, j, distance)| {
        format!(" The closest bodies are {i} and {j}, {distance:.3e} apart.")
    });
    format!(
        "{when}: the energy is {total}, not a finite number.{pair} Give a --softening, or other bodies"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbody::Model;

    #[test]
    fn many_bodies_have_the_energies_that_a_few_are_summed_to() {
        let bodies = Model::Plummer.build(Some(500), 3, 2.5, 3).expect("bodies");
        for softening in [0.0, 0.125] {
            let known = Energies::from(&Diagnostics::of(&bodies, 2.5, softening));
            let mut engine = hermite::CpuEngine::new(Some(2)).expect("starts");
            let found = by_engine(&bodies, 2.5, softening, &mut engine).expect("computes");
            assert!((found.kinetic / known.kinetic - 1.0).abs() < 1e-14);
            assert!((found.potential / known.potential - 1.0).abs() < 1e-13);
        }
    }

    #[test]
    fn the_largest_error_counts_for_limits_and_warnings() {
        let mut error = EnergyError::new(-0.25, 0.75);
        assert_eq!(error.look(-0.25), 0.0);
        assert_eq!(error.warning("advice"), None);
        assert_eq!(error.look(-0.1875), 0.25);
        assert_eq!(error.look(-0.2509765625), -0.00390625);
        assert_eq!((error.last(), error.largest()), (-0.00390625, 0.25));
        let said = error.warning("take care").expect("warned of");
        assert!(
            said.contains("-3.91e-3 (at most +2.50e-1 on the way)"),
            "{said}"
        );
        assert!(said.ends_with("take care"), "{said}");
        assert_eq!(error.check(None), Ok(()));
        assert_eq!(error.check(Some(0.3)), Ok(()));
        assert!(
            error
                .check(Some(0.1))
                .unwrap_err()
                .contains("--max-error 0.1")
        );
    }
}
