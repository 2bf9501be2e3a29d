//! The energy error of N-body runs and clusters, and the limit above which it is a warning.
//!
//! The counterpart for maps is [`Resolution`](crate::divergence::Resolution).

use crate::hermite::{self, HermiteError, Order, Star};
use crate::nbody::{self, Bodies, Diagnostics, Specification};
use crate::run::EngineError;
use crate::run::Workers;
use crate::simd::Simd;

pub use crate::bodies::{
    DISPLACEMENT_LIMIT, Displacement, Displacements, ENERGY_LIMIT, Energies, EnergyError, no_energy,
};

/// Above this number of bodies, energies are not summed in the order of [`Diagnostics`] but by the vector units of a CPU, or a GPU.
const MAX_BODIES_FOR_DIAGNOSTICS: usize = 20_000;

/// The energies of the bodies of a run on `engine`: evaluated on its GPU, if it has one, or by this number of CPU threads (`None`: as
/// many as the process may use) with this instruction set (`None`: the fastest). Takes a time proportional to the square of the number of bodies: some 10⁹ pairs a second on a
/// CPU core, 10¹¹ on a GPU.
///
/// # Errors
/// [`EngineError`] of the device.
pub fn energies(
    bodies: &Bodies,
    specification: &Specification,
    engine: &dyn nbody::Engine,
    threads: Option<usize>,
    simd: Option<Simd>,
) -> Result<Energies, EngineError> {
    let (g, softening) = (specification.g, specification.softening);
    if bodies.len() <= MAX_BODIES_FOR_DIAGNOSTICS {
        let workers = Workers::with_simd(threads, simd)?;
        let found = workers.install(|| Diagnostics::of(bodies, g, softening));
        return Ok(Energies::from(&found));
    }
    let found = (|| {
        if let Some(gpu) = engine.gpu() {
            let mut on_gpu =
                hermite::on_devices(vec![gpu.clone()], Workers::with_simd(threads, simd)?);
            return by_engine(bodies, g, softening, on_gpu.as_mut());
        }
        let mut on_cpu = hermite::CpuEngine::with_simd(threads, simd)?;
        by_engine(bodies, g, softening, &mut on_cpu)
    })();
    found.map_err(|error| match error {
        HermiteError::Engine(error) => error,
        other => EngineError::Sink(other.to_string()),
    })
}

/// Evaluates energies by an engine for clusters, which can compute potentials on any device.
fn by_engine(
    bodies: &Bodies,
    g: f64,
    softening: f64,
    engine: &mut dyn hermite::Engine,
) -> Result<Energies, HermiteError> {
    let mut stars = Star::of(bodies);
    stars.iter_mut().for_each(|star| star.mass *= g);
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
    Ok(hermite::Cluster::energy_of(&stars, &potentials))
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
        let mut error = EnergyError::new(Energies {
            kinetic: 0.25,
            potential: -0.5,
            internal: -0.25,
        });
        assert_eq!(error.look(-0.25), 0.0);
        assert_eq!(error.warning("advice"), None);
        assert_eq!(error.look(-0.1875), 0.25);
        assert_eq!(error.look(-0.2509765625), -0.00390625);
        assert_eq!((error.last(), error.largest()), (-0.00390625, 0.25));
        let said = error.warning("take care").expect("warned of");
        assert!(
            said.contains("-3.91e-3 (largest +2.50e-1 during the run)"),
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
