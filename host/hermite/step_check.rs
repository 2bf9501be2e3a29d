//! Repeats parts of a run with steps twice as long, to see how far the errors of the steps displace each particle.

use super::{Cluster, CpuEngine, HermiteError, Specification, Star, bodies_of};
use trisolar_bodies::{Bodies, Displacement, Displacements};
use trisolar_simd::Simd;

/// Number of parts of a run that are repeated from the run's own positions, so that chaos cannot amplify the errors of earlier parts.
const PARTS: f64 = 16.0;
/// Up to this number of particles, a run is repeated as a whole.
const FEW_PARTICLES: usize = 64;
/// The share of other runs that is repeated.
const SHARE: f64 = 0.125;
/// Largest number of particles of a run that is checked, on a CPU.
const MAX_PARTICLES: usize = 4096;

/// A check of the steps of a run.
#[derive(Debug)]
pub struct StepCheck {
    found: Displacements,
    /// With steps twice as long.
    coarse: Specification,
    mass: Vec<f64>,
    threads: Option<usize>,
    simd: Option<Simd>,
    /// The time at which a part begins, and its particles, until it has been repeated.
    from: Option<(f64, Bodies)>,
    /// The length of a part and how much of it is repeated (time).
    part: f64,
    repeated: f64,
    end: f64,
    /// The time of the next look.
    next: f64,
}

impl StepCheck {
    /// Of a run from `first` to `end`, repeated by this number of threads with this instruction set; `None` for too many particles, and
    /// where [`Displacements`] are not known.
    pub fn of(
        spec: &Specification,
        bodies: &Bodies,
        [first, end]: [f64; 2],
        threads: Option<usize>,
        simd: Option<Simd>,
    ) -> Option<Self> {
        let found = Displacements::of(bodies).filter(|_| bodies.len() <= MAX_PARTICLES)?;
        let part = (end - first) / PARTS;
        let coarse = Specification {
            eta: 2.0 * spec.eta,
            eta_start: 2.0 * spec.eta_start,
            max_step: 2.0 * spec.max_step,
            min_step: spec.min_step.map(|step| 2.0 * step),
            // The particles of a run have the velocities of its own clock.
            backwards: false,
            ..spec.clone()
        };
        let few = bodies.len() <= FEW_PARTICLES;
        (part > 0.0).then(|| Self {
            found,
            coarse,
            mass: bodies.mass.clone(),
            threads,
            simd,
            from: None,
            part,
            repeated: if few { part } else { SHARE * part },
            end,
            next: first,
        })
    }

    /// The next time at which it needs the particles; infinite after the end.
    pub fn next_look(&self) -> f64 {
        self.next
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
        let time = self.next;
        let mut begins = time;
        if let Some((began, bodies)) = self.from.take() {
            let to = bodies_of(stars);
            match self.repeat(&bodies, time - began, go_on) {
                Ok(Some(other)) => {
                    let states = [&bodies, &to, &other].map(|b| &b.position[..]);
                    let (softening, order) = (self.coarse.softening, self.coarse.order.number());
                    let weight = self.part / self.repeated;
                    self.found.add(states, &self.mass, softening, order, weight);
                }
                Err(HermiteError::Engine(error)) => return Err(error.into()),
                // It was interrupted, or only the longer steps fail: this tells nothing of the shorter ones.
                Ok(None) | Err(_) => {}
            }
            begins = began + self.part;
        }
        self.next = if time >= self.end {
            f64::INFINITY
        } else if begins > time {
            begins.min(self.end)
        } else {
            self.from = Some((time, bodies_of(stars)));
            (time + self.repeated).min(self.end)
        };
        Ok(())
    }

    /// The particles after `span`, from these, with longer steps; `None` if it was interrupted.
    fn repeat(
        &self,
        from: &Bodies,
        span: f64,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Bodies>, HermiteError> {
        let Ok(start) = self.coarse.clone().validate(from.clone()) else {
            return Ok(None);
        };
        let engine = Box::new(CpuEngine::with_simd(self.threads, self.simd)?);
        let mut cluster = Cluster::new(&start, engine)?;
        if !cluster.advance(span, go_on)? {
            return Ok(None);
        }
        Ok(Some(bodies_of(&cluster.at(span)?)))
    }

    /// The largest displacement so far.
    pub fn largest(&self) -> Option<Displacement> {
        self.found.largest(&self.mass)
    }
}
