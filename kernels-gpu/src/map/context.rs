//! What belongs to one item of a map.

use super::{FirstSteps, Job};
use crate::number::per_lane;

/// The masses of an item, or of one in each lane, in the forms that the loop over steps needs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OwnMasses<M, T> {
    /// The integrator's form.
    pub masses: M,
    /// The quantity's form.
    pub terms: T,
}

per_lane!(OwnMasses<M, T> { masses, terms });

impl<M, T> OwnMasses<M, T> {
    /// The context of the items with these masses.
    #[inline(always)]
    pub fn context<'a>(&'a self, job: &'a Job) -> Context<'a, M, T> {
        Context {
            masses: &self.masses,
            terms: &self.terms,
            job,
        }
    }
}

/// Everything that an integrator and a quantity may know about their item. The job itself is hidden, because items can have masses other
/// than the job's.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a, M, T> {
    /// The masses in the integrator's form.
    pub masses: &'a M,
    /// The quantity's terms.
    pub terms: &'a T,
    job: &'a Job,
}

impl<M, T> Context<'_, M, T> {
    /// The map's time step.
    #[inline(always)]
    pub fn dt(&self) -> f64 {
        self.job.dt
    }

    /// The map's number of steps.
    #[inline(always)]
    pub fn steps(&self) -> u32 {
        self.job.steps
    }

    /// The method of a multistep method's first steps.
    #[inline(always)]
    pub fn first_steps(&self) -> FirstSteps {
        self.job.first_steps
    }

    /// The shift of the grid body in the twin system (length).
    #[inline(always)]
    pub fn shift(&self) -> [f64; 3] {
        self.job.shift
    }

    /// The direction of the shift, as a unit vector.
    #[inline(always)]
    pub fn direction(&self) -> [f64; 3] {
        self.job.direction
    }
}
