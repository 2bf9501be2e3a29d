//! The general form of an integrator on the three bodies of a map, which are a [`System`] whose vectors are in registers.

use core::convert::Infallible;
use core::marker::PhantomData;

use super::SystemIntegrator;
use super::fixed_steps::{FixedSteps, MassesOf, Memory, State, accelerations};
use super::system::{Combination, MAX_COMBINATIONS, MAX_TERMS, Pair, System, Target};
use crate::Real;
use crate::map::FirstSteps;
use crate::number::{Numbers, each, per_lane};
use crate::physics::three_body::Relative;

/// The integrator `I` on maps, in its general form. `KEPT` is 1 if it carries accelerations from step to step and 0 otherwise; `SAVED`
/// is the number of pairs that it [saves](SystemIntegrator::SAVED).
#[derive(Clone, Copy, Debug)]
pub struct General<I, const KEPT: usize, const SAVED: usize>(PhantomData<I>);

/// The vectors of a system other than positions and velocities.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Registers<R, const KEPT: usize, const SAVED: usize> {
    /// Accelerations (times dt²), if they are carried from step to step.
    pub accelerations: [Relative<R>; KEPT],
    /// Saved pairs of vectors.
    pub saved: [[Relative<R>; 2]; SAVED],
}

per_lane!(Registers<R; KEPT, SAVED> { accelerations, saved });

impl<R: Real, const KEPT: usize, const SAVED: usize> Numbers<R> for Registers<R, KEPT, SAVED> {
    #[inline(always)]
    fn for_each(&mut self, f: &mut impl FnMut(&mut R)) {
        self.accelerations.for_each(f);
        self.saved.for_each(f);
    }
}

impl<R: Real, const KEPT: usize, const SAVED: usize> Memory<R> for Registers<R, KEPT, SAVED> {
    #[inline(always)]
    fn empty() -> Self {
        Self {
            accelerations: [Relative::zero(); KEPT],
            saved: [[Relative::zero(); 2]; SAVED],
        }
    }
}

/// `N` systems that go through the same operations.
struct Systems<'a, R: Real, const N: usize, const KEPT: usize, const SAVED: usize> {
    s: [&'a mut State<R, Registers<R, KEPT, SAVED>>; N],
    f: [Relative<R>; N],
    masses: &'a MassesOf<R>,
}

impl<'a, R: Real, const N: usize, const KEPT: usize, const SAVED: usize>
    Systems<'a, R, N, KEPT, SAVED>
{
    #[inline(always)]
    fn new(s: [&'a mut State<R, Registers<R, KEPT, SAVED>>; N], masses: &'a MassesOf<R>) -> Self {
        const { assert!(KEPT <= 1, "accelerations are kept once") };
        let mut f = [Relative::zero(); N];
        if KEPT == 1 {
            each!(N, |n| f[n] = s[n].memory.accelerations[0]);
        }
        Self { s, f, masses }
    }

    /// Stores the accelerations, if they are carried to the next step.
    #[inline(always)]
    fn keep(self) {
        if KEPT == 1 {
            each!(N, |n| self.s[n].memory.accelerations[0] = self.f[n]);
        }
    }

    /// The two vectors of a pair in system `n`.
    #[inline(always)]
    fn pair(&self, n: usize, pair: Pair) -> [Relative<R>; 2] {
        match pair {
            Pair::State => [self.s[n].q, self.s[n].u],
            Pair::Rates => [self.s[n].u, self.f[n]],
            Pair::Saved(k) => self.s[n].memory.saved[k],
            Pair::Zero => [Relative::zero(); 2],
        }
    }
}

impl<R: Real, const N: usize, const KEPT: usize, const SAVED: usize> System
    for Systems<'_, R, N, KEPT, SAVED>
{
    type Error = Infallible;

    #[inline(always)]
    fn accelerate(&mut self) -> Result<(), Infallible> {
        self.f = accelerations(super::fixed_steps::positions(&self.s), self.masses);
        Ok(())
    }

    #[inline(always)]
    fn kick(&mut self, h: f64) -> Result<(), Infallible> {
        let h = R::constant(h);
        each!(N, |n| self.s[n].u =
            self.s[n].u.plus_scaled(h, &self.f[n]).now());
        Ok(())
    }

    #[inline(always)]
    fn drift(&mut self, h: f64) -> Result<(), Infallible> {
        let h = R::constant(h);
        each!(N, |n| {
            let u = self.s[n].u;
            self.s[n].q = self.s[n].q.plus_scaled(h, &u).now();
        });
        Ok(())
    }

    #[inline(always)]
    fn combine(&mut self, combinations: &[Combination<'_>]) -> Result<(), Infallible> {
        each!(MAX_COMBINATIONS, |c| if c < combinations.len() {
            let Combination { to, from, terms } = combinations[c];
            each!(N, |n| {
                let mut sum = self.pair(n, from);
                each!(MAX_TERMS, |t| if t < terms.len() {
                    let (pair, k) = terms[t];
                    let [x, v] = self.pair(n, pair);
                    let k = R::constant(k);
                    sum = [sum[0].plus_scaled(k, &x), sum[1].plus_scaled(k, &v)];
                });
                let sum = [sum[0].now(), sum[1].now()];
                match to {
                    Target::State => [self.s[n].q, self.s[n].u] = sum,
                    Target::Saved(k) => self.s[n].memory.saved[k] = sum,
                }
            });
        });
        Ok(())
    }
}

impl<I: SystemIntegrator, const KEPT: usize, const SAVED: usize> FixedSteps
    for General<I, KEPT, SAVED>
{
    type Memory<R: Real> = Registers<R, KEPT, SAVED>;
    const STARTS: u32 = I::STARTS;

    #[inline(always)]
    fn begin<R: Real>(s: &mut State<R, Self::Memory<R>>, masses: &MassesOf<R>) {
        let mut systems = Systems::new([s], masses);
        let Ok(()) = I::prepare(&mut systems);
        systems.keep();
    }

    /// Uses the integrator's own first steps; the choice has no effect.
    #[inline(always)]
    fn start<R: Real>(s: &mut State<R, Self::Memory<R>>, _: FirstSteps, masses: &MassesOf<R>) {
        let mut systems = Systems::new([s], masses);
        let Ok(()) = I::start(&mut systems, 1.0);
        systems.keep();
    }

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut State<R, Self::Memory<R>>; N], masses: &MassesOf<R>) {
        const { assert!(SAVED >= I::SAVED, "enough saved pairs for the integrator") };
        let mut systems = Systems::new(s, masses);
        let Ok(()) = I::step(&mut systems, 1.0);
        systems.keep();
    }
}
