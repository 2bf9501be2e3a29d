//! Integrators of three bodies as seen from the first: one a file, pure functions of a [`State`]. Divergence maps are
//! made with them.
//!
//! The unit of time is the step: velocities are kept as u = v·dt (length a step) and masses as G·m·dt², so that
//! accelerations f = a·dt² have the dimension of u, and no product with dt is left.

use core::fmt::Debug;

use crate::physics::three_body::{FromPulls, Pulls, Relative, kick, squares};
use crate::{PerLane, Real};

mod adams_bashforth_2;
mod adams_bashforth_4;
mod explicit_euler;
mod fixed_euler;
mod hermite_4;
mod leapfrog;
mod runge_kutta_4;
mod semi_implicit_euler;

pub use adams_bashforth_2::AdamsBashforth2;
pub use adams_bashforth_4::AdamsBashforth4;
pub use explicit_euler::ExplicitEuler;
pub use fixed_euler::FixedEuler;
pub use hermite_4::Hermite4;
pub use leapfrog::Leapfrog;
pub use runge_kutta_4::RungeKutta4;
pub use semi_implicit_euler::SemiImplicitEuler;

/// Three bodies, relative to the first, and what an integrator remembers of earlier steps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct State<R, M> {
    /// Positions.
    pub q: Relative<R>,
    /// Velocities times dt.
    pub u: Relative<R>,
    /// The integrator's own.
    pub memory: M,
}

impl<R: Real, M: Memory<R>> State<R, M> {
    /// At rest in the integrator's memory; positions and velocities in every lane.
    #[inline(always)]
    pub fn new(q: &Relative<f64>, u: &Relative<f64>) -> Self {
        Self {
            q: q.convert(),
            u: u.convert(),
            memory: M::empty(),
        }
    }
}

impl<R: Real, M: Memory<R>> State<R, M> {
    /// Replaces one lane by the same lane of `from`.
    #[inline(always)]
    pub fn set_lane(&mut self, lane: usize, from: &Self) {
        self.q.set_lane(lane, &from.q);
        self.u.set_lane(lane, &from.u);
        self.memory.set_lane(lane, &from.memory);
    }
}

/// What an integrator carries from step to step besides positions and velocities.
pub trait Memory<R: Real>: Copy {
    /// Nothing yet.
    fn empty() -> Self;
    /// Replaces one lane by the same lane of `from`.
    fn set_lane(&mut self, lane: usize, from: &Self);
}

/// A number of earlier derivatives; none for one-step methods.
impl<R: Real, const N: usize> Memory<R> for [Relative<R>; N] {
    #[inline(always)]
    fn empty() -> Self {
        [Relative::zero(); N]
    }

    #[inline(always)]
    fn set_lane(&mut self, lane: usize, from: &Self) {
        PerLane::set_lane(self, lane, from);
    }
}

/// How a multistep method takes the steps for which it has no history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Start {
    /// Explicit Euler, which leaves an error of second order for the whole run.
    Euler = 0,
    /// [`RungeKutta4`], which keeps the method's order.
    RungeKutta = 1,
}

/// Steps systems; always two at a time, which then test for a close encounter once and interleave their operations.
pub trait Integrator<R: Real>: Copy + Debug + 'static {
    /// What it remembers.
    type Memory: Memory<R>;

    /// How it keeps the masses.
    type Pulls: FromPulls<R>;

    /// A pixel's first steps that [`start`](Self::start) takes instead of [`step_both`](Self::step_both).
    const STARTS: u32 = 0;

    /// Prepares a system for its first step.
    #[inline(always)]
    fn begin(s: &mut State<R, Self::Memory>, pulls: &Self::Pulls) {
        let _ = (s, pulls);
    }

    /// One of the first [`STARTS`](Self::STARTS) steps.
    #[inline(always)]
    fn start(s: &mut State<R, Self::Memory>, start: Start, pulls: &Self::Pulls) {
        let _ = (s, start, pulls);
    }

    /// One step of two systems.
    fn step_both(
        s: &mut State<R, Self::Memory>,
        t: &mut State<R, Self::Memory>,
        pulls: &Self::Pulls,
    );
}

/// r⁻³ of the three pairs of two systems.
#[inline(always)]
fn inv_cubes_both<R: Real>(s: &Relative<R>, t: &Relative<R>, pulls: &Pulls<R>) -> [[R; 3]; 2] {
    let (rs, rt) = (squares(s, pulls), squares(t, pulls));
    let w = R::inv_cubes([rs[0], rs[1], rs[2], rt[0], rt[1], rt[2]]);
    [[w[0], w[1], w[2]], [w[3], w[4], w[5]]]
}

/// Accelerations of two systems.
#[inline(always)]
fn accelerations_both<R: Real>(
    s: &Relative<R>,
    t: &Relative<R>,
    pulls: &Pulls<R>,
) -> [Relative<R>; 2] {
    let [ws, wt] = inv_cubes_both(s, t, pulls);
    let mut f = [Relative::zero(); 2];
    kick(&mut f[0], s, ws, pulls);
    kick(&mut f[1], t, wt, pulls);
    f
}

/// Accelerations of one system.
#[inline(always)]
fn accelerations<R: Real>(s: &Relative<R>, pulls: &Pulls<R>) -> Relative<R> {
    let r2 = squares(s, pulls);
    let mut f = Relative::zero();
    let w = [r2[0].inv_cube(), r2[1].inv_cube(), r2[2].inv_cube()];
    kick(&mut f, s, w, pulls);
    f
}
