//! Repeats parts of a run with steps twice as long, to see how far the errors of the steps displace each particle.

use super::{Cluster, CpuEngine, HermiteError, Specification, Star, bodies_of};
use trisolar_bodies::{Bodies, DVec3, Displacement};
use trisolar_simd::Simd;
use trisolar_time_run::{self as time_run, Parts};

/// Number of parts of a run.
const PARTS: f64 = 16.0;
/// Up to this number of particles, a run is repeated as a whole.
const FEW_PARTICLES: usize = 64;
/// Largest number of particles of a run that is checked, on a CPU.
const MAX_PARTICLES: usize = 4096;

/// A check of the steps of a run.
#[derive(Debug)]
pub struct StepCheck {
    check: time_run::StepCheck,
    /// With steps twice as long.
    coarse: Specification,
    threads: Option<usize>,
    simd: Option<Simd>,
}

impl StepCheck {
    /// Of a run from `first` to `end`, repeated by this number of threads with this instruction set; `None` for too many particles, and
    /// where [`Displacements`](trisolar_bodies::Displacements) are not known.
    pub fn of(
        spec: &Specification,
        bodies: &Bodies,
        [first, end]: [f64; 2],
        threads: Option<usize>,
        simd: Option<Simd>,
    ) -> Option<Self> {
        let part = (end - first) / PARTS;
        if bodies.len() > MAX_PARTICLES || part <= 0.0 {
            return None;
        }
        let parts = Parts {
            span: [first, end],
            first: part,
            limits: [part; 2],
            quantum: 0.0,
            whole: bodies.len() <= FEW_PARTICLES,
        };
        let coarse = Specification {
            eta: 2.0 * spec.eta,
            eta_start: 2.0 * spec.eta_start,
            max_step: 2.0 * spec.max_step,
            min_step: spec.min_step.map(|step| 2.0 * step),
            // The particles of a run have the velocities of its own clock.
            backwards: false,
            ..spec.clone()
        };
        let (softening, order) = (spec.softening, spec.order.number());
        Some(Self {
            check: time_run::StepCheck::of(bodies, softening, order, parts)?,
            coarse,
            threads,
            simd,
        })
    }

    /// The next time at which it needs the particles; infinite after the end.
    pub fn next_look(&self) -> f64 {
        self.check.next_look()
    }

    /// Looks at all particles at the time [`next_look`](Self::next_look). `go_on` may end it.
    ///
    /// # Errors
    /// [`HermiteError::Engine`], such as for threads that cannot be started.
    pub fn look(
        &mut self,
        stars: &[Star],
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<(), HermiteError> {
        let (coarse, threads, simd) = (&self.coarse, self.threads, self.simd);
        let mut repeat = |from: &Bodies, span: f64| -> Result<Option<Vec<DVec3>>, HermiteError> {
            let Ok(start) = coarse.clone().validate(from.clone()) else {
                return Ok(None);
            };
            let engine = Box::new(CpuEngine::with_simd(threads, simd)?);
            let mut cluster = Cluster::new(&start, engine)?;
            let ended = cluster.advance(span, go_on)?;
            let stars = ended.then(|| cluster.at(span)).transpose()?;
            Ok(stars.map(|stars| bodies_of(&stars).position))
        };
        (self.check).look((&bodies_of(stars), ()), |from, (), span| {
            match repeat(from, span) {
                Err(HermiteError::Engine(error)) => Err(error.into()),
                // It was interrupted, or only the longer steps fail.
                other => Ok(other.ok().flatten()),
            }
        })
    }

    /// The largest displacement so far.
    pub fn largest(&self) -> Option<Displacement> {
        self.check.largest()
    }
}
