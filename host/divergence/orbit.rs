//! The system of one pixel and its twin, step by step as the engines take them.

use kernels_gpu::integrator::{MapIntegrator, TwinContext, TwinState, Twins};
use kernels_gpu::lanes::one_pixel;
use kernels_gpu::map::Job;
use kernels_gpu::methods::{Compiled as _, Entries, Visitor};
use kernels_gpu::number::Precision;
use kernels_gpu::physics::three_body::Relative;
use kernels_gpu::quantity::{Divergence, LaneMasses, Quantity as _};
use kernels_gpu::{Mask as _, Real, Vec3};

use super::Validated;

/// A system and its twin under way. Lengths are in the unit of the map's [`Job`].
pub trait TwinOrbits {
    /// The positions of the second and third body relative to the grid body (length), in the kernels' order, of the system or of its
    /// twin.
    fn positions(&self, of_twin: bool) -> [[f64; 3]; 2];

    /// The velocities of these bodies relative to the grid body (length / time step).
    fn velocities(&self, of_twin: bool) -> [[f64; 3]; 2];

    /// Whether the grid bodies are within the critical distance of each other; false once a position is not a number.
    fn are_together(&self) -> bool;

    /// Takes a step.
    fn step(&mut self);
}

/// The orbits of the job's first pixel and of its twin, at their start, by the map's precision and integrator.
pub fn twin_orbits(map: &Validated) -> Box<dyn TwinOrbits> {
    let (precision, integrator) = {
        let specification = map.specification();
        (
            specification.precision.kind(),
            specification.integrator.name(),
        )
    };
    let start = Start { job: map.job(0, 1) };
    let orbits = Divergence::with_method(precision, integrator, start);
    orbits.expect("a validated map has a method of the table")
}

struct Start {
    job: Job,
}

impl Visitor<Divergence> for Start {
    type Output = Box<dyn TwinOrbits>;

    fn visit<P: Precision, I: MapIntegrator>(self, _: Entries<Divergence, P, I>) -> Self::Output {
        let job = self.job;
        let masses = Divergence::own_masses::<P, I>(&job.masses);
        let [start, twin] = &job.grid.point(job.first).twins(job.dt, job.shift);
        Box::new(Orbits::<P, I> {
            twins: TwinState::<P, I>::begin([start, twin], masses.context(&job)),
            together: I::TWINS_HAVE_OWN_STEPS
                .then(|| one_pixel::<Divergence, I, P>(&job, job.first)),
            masses,
            job,
            taken: 0,
        })
    }
}

struct Orbits<P: Precision, I: MapIntegrator> {
    job: Job,
    masses: LaneMasses<Divergence, I, P>,
    twins: Twins<I::State<P>>,
    /// The map's value, where it follows the twins by steps of their own, between which they may part for a moment.
    together: Option<u32>,
    taken: u32,
}

impl<P: Precision, I: MapIntegrator> Orbits<P, I> {
    fn context(&self) -> TwinContext<'_, P, I> {
        self.masses.context(&self.job)
    }

    fn system(&self, of_twin: bool) -> &I::State<P> {
        if of_twin {
            &self.twins.b
        } else {
            &self.twins.a
        }
    }
}

impl<P: Precision, I: MapIntegrator> TwinOrbits for Orbits<P, I> {
    fn positions(&self, of_twin: bool) -> [[f64; 3]; 2] {
        numbers(&I::positions(self.system(of_twin)))
    }

    fn velocities(&self, of_twin: bool) -> [[f64; 3]; 2] {
        // In lengths a step, which every number can hold.
        let rate = P::Constant::from_f64(1.0);
        numbers(&I::velocities(
            self.system(of_twin),
            rate,
            &self.masses.masses,
        ))
    }

    fn are_together(&self) -> bool {
        match self.together {
            Some(steps) => self.taken < steps || steps == self.job.steps,
            None => TwinState::<P, I>::are_together(&self.twins, self.context()).all(),
        }
    }

    fn step(&mut self) {
        let c = self.masses.context(&self.job);
        if self.taken < I::STARTS {
            TwinState::<P, I>::start(&mut self.twins, c);
        } else {
            TwinState::<P, I>::step(&mut self.twins, c);
        }
        self.taken = self.taken.saturating_add(1);
    }
}

fn numbers<R: Real>(r: &Relative<R>) -> [[f64; 3]; 2] {
    [&r.a, &r.b].map(|v: &Vec3<R>| [v.x, v.y, v.z].map(|x| x.to_f64(0)))
}
