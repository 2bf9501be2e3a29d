//! A state in motion: alone, or with a tangent vector and what it tells about chaos.

use crate::system::{Iterates, Rates, Splits};
use crate::{Dual, Outcomes, Scalar};

/// Numbers that a linear combination takes part by part.
pub trait Vector<R>: Copy {
    /// The vector of `f` of each number.
    #[must_use]
    fn map(self, f: impl Fn(R) -> R) -> Self;
    /// The vector of `f` of each number and its counterpart.
    #[must_use]
    fn zip(self, other: Self, f: impl Fn(R, R) -> R) -> Self;
}

impl<R: Scalar, const N: usize> Vector<R> for [R; N] {
    #[inline(always)]
    fn map(mut self, f: impl Fn(R) -> R) -> Self {
        let mut i = 0;
        while i < N {
            self[i] = f(self[i]);
            i += 1;
        }
        self
    }

    #[inline(always)]
    fn zip(mut self, other: Self, f: impl Fn(R, R) -> R) -> Self {
        let mut i = 0;
        while i < N {
            self[i] = f(self[i], other[i]);
            i += 1;
        }
        self
    }
}

/// What integrators ask of a state in motion.
pub trait Motion<R: Scalar> {
    /// The state.
    type State: Vector<R>;

    /// The mean square of `error` in units of `tolerance` (1 + |y|), for a step from `before` to `after`.
    fn mean_square(
        &self,
        before: &Self::State,
        after: &Self::State,
        error: &Self::State,
        tolerance: f64,
    ) -> R;

    /// Does what follows a step. `weight` is the time for MEGNO where the step has taken the tangent vector along without integrating its
    /// growth (`grows`).
    fn settled(
        &self,
        before: &Self::State,
        after: Self::State,
        weight: R,
        grows: bool,
    ) -> Self::State;
}

/// A state that has a derivative.
pub trait Rate<R: Scalar>: Motion<R> {
    /// The derivative at the time `t`.
    fn rate(&self, t: R, state: &Self::State) -> Self::State;
}

/// A state for symplectic integrators.
pub trait Split<R: Scalar>: Motion<R> {
    /// Moves the coordinates.
    fn drift(&self, h: R, state: &Self::State) -> Self::State;
    /// Changes the momenta.
    fn kick(&self, h: R, state: &Self::State) -> Self::State;
}

/// A state that is iterated.
pub trait Iterate<R: Scalar>: Motion<R> {
    /// The next state.
    fn iterate(&self, state: &Self::State) -> Self::State;
}

/// What the loop over items asks of a state in motion.
pub trait Evolution<R: Scalar, const D: usize, const P: usize>: Motion<R> {
    /// The equations.
    type System;
    /// Whether there is a tangent vector.
    const HAS_TANGENT: bool;

    /// The motion of a system with these parameters.
    fn new(system: Self::System, parameters: [R; P]) -> Self;
    /// The state at the start.
    fn begin(&self, start: [R; D]) -> Self::State;
    /// The numbers of the state.
    fn numbers(state: &Self::State) -> &[R; D];
    /// ln |d(t)| - ln |d(0)| of the tangent vector d, and the integral of t d(ln |d|).
    fn growth(state: &Self::State) -> [R; 2];
    /// Whether there are outcomes.
    fn has_outcomes(&self) -> bool;
    /// The outcome that the state has reached.
    fn outcome(&self, state: &Self::State) -> R;
}

/// A system without a tangent vector.
#[derive(Clone, Copy, Debug)]
pub struct Alone<R, Y, const D: usize, const P: usize> {
    system: Y,
    parameters: [R; P],
}

/// The sum of the squares of the errors in units of `tolerance` (1 + |y|).
#[inline(always)]
fn squares<R: Scalar, const N: usize>(
    before: &[R; N],
    after: &[R; N],
    error: &[R; N],
    tolerance: f64,
) -> R {
    let mut sum = R::of(0.0);
    let mut i = 0;
    while i < N {
        let scale = (before[i].abs().max(after[i].abs()) + 1.0) * tolerance;
        let ratio = error[i] / scale;
        sum = sum + ratio * ratio;
        i += 1;
    }
    sum
}

impl<R: Scalar, Y: crate::Dynamics<D, P>, const D: usize, const P: usize> Motion<R>
    for Alone<R, Y, D, P>
{
    type State = [R; D];

    #[inline(always)]
    fn mean_square(&self, a: &[R; D], b: &[R; D], error: &[R; D], tolerance: f64) -> R {
        squares(a, b, error, tolerance) / self.system.dimension() as f64
    }

    #[inline(always)]
    fn settled(&self, _: &[R; D], after: [R; D], _: R, _: bool) -> [R; D] {
        after
    }
}

impl<R: Scalar, Y: Rates<D, P>, const D: usize, const P: usize> Rate<R> for Alone<R, Y, D, P> {
    #[inline(always)]
    fn rate(&self, t: R, x: &[R; D]) -> [R; D] {
        self.system.rate(t, x, &self.parameters)
    }
}

impl<R: Scalar, Y: Splits<D, P>, const D: usize, const P: usize> Split<R> for Alone<R, Y, D, P> {
    #[inline(always)]
    fn drift(&self, h: R, x: &[R; D]) -> [R; D] {
        self.system.drift(h, x, &self.parameters)
    }
    #[inline(always)]
    fn kick(&self, h: R, x: &[R; D]) -> [R; D] {
        self.system.kick(h, x, &self.parameters)
    }
}

impl<R: Scalar, Y: Iterates<D, P>, const D: usize, const P: usize> Iterate<R>
    for Alone<R, Y, D, P>
{
    #[inline(always)]
    fn iterate(&self, x: &[R; D]) -> [R; D] {
        self.system.iterate(x, &self.parameters)
    }
}

impl<R: Scalar, Y: crate::Dynamics<D, P>, const D: usize, const P: usize> Evolution<R, D, P>
    for Alone<R, Y, D, P>
{
    type System = Y;
    const HAS_TANGENT: bool = false;

    #[inline(always)]
    fn new(system: Y, parameters: [R; P]) -> Self {
        Self { system, parameters }
    }
    #[inline(always)]
    fn begin(&self, start: [R; D]) -> [R; D] {
        self.system.begin(start, &self.parameters)
    }
    #[inline(always)]
    fn numbers(state: &[R; D]) -> &[R; D] {
        state
    }
    #[inline(always)]
    fn growth(_: &[R; D]) -> [R; 2] {
        [R::of(f64::NAN); 2]
    }
    #[inline(always)]
    fn has_outcomes(&self) -> bool {
        self.system.has_outcomes()
    }
    #[inline(always)]
    fn outcome(&self, state: &[R; D]) -> R {
        let mut found = Outcomes::none();
        self.system.outcomes(state, &self.parameters, &mut found);
        found.code
    }
}

/// A state, a tangent vector d, which begins along the first number, and the growth of d.
#[derive(Clone, Copy, Debug)]
pub struct Variational<R, const D: usize> {
    x: [R; D],
    d: [R; D],
    /// ln |d(t)| - ln |d(0)|, and the integral of t d(ln |d|).
    growth: [R; 2],
}

impl<R: Scalar, const D: usize> Vector<R> for Variational<R, D> {
    #[inline(always)]
    fn map(self, f: impl Fn(R) -> R) -> Self {
        Self {
            x: Vector::map(self.x, &f),
            d: Vector::map(self.d, &f),
            growth: Vector::map(self.growth, &f),
        }
    }

    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(R, R) -> R) -> Self {
        Self {
            x: self.x.zip(o.x, &f),
            d: self.d.zip(o.d, &f),
            growth: self.growth.zip(o.growth, &f),
        }
    }
}

/// The scalar product.
#[inline(always)]
fn dot<R: Scalar, const D: usize>(a: &[R; D], b: &[R; D]) -> R {
    let mut sum = a[0] * b[0];
    let mut i = 1;
    while i < D {
        sum = sum + a[i] * b[i];
        i += 1;
    }
    sum
}

impl<R: Scalar, const D: usize> Variational<R, D> {
    /// The state and the tangent vector as numbers with derivatives.
    #[inline(always)]
    fn duals(&self) -> [Dual<R>; D] {
        let mut duals = [Dual::of(0.0); D];
        let mut i = 0;
        while i < D {
            duals[i] = Dual {
                value: self.x[i],
                slope: self.d[i],
            };
            i += 1;
        }
        duals
    }

    /// Numbers with derivatives as a state and a tangent vector.
    #[inline(always)]
    fn of_duals(duals: [Dual<R>; D], growth: [R; 2]) -> Self {
        let (mut x, mut d) = ([R::of(0.0); D], [R::of(0.0); D]);
        let mut i = 0;
        while i < D {
            (x[i], d[i]) = (duals[i].value, duals[i].slope);
            i += 1;
        }
        Self { x, d, growth }
    }
}

/// A system with a tangent vector.
#[derive(Clone, Copy, Debug)]
pub struct WithTangent<R, Y, const D: usize, const P: usize> {
    system: Y,
    parameters: [R; P],
}

impl<R: Scalar, Y, const D: usize, const P: usize> WithTangent<R, Y, D, P> {
    /// The parameters as numbers without a derivative.
    #[inline(always)]
    fn duals(&self) -> [Dual<R>; P] {
        let mut duals = [Dual::of(0.0); P];
        let mut i = 0;
        while i < P {
            duals[i].value = self.parameters[i];
            i += 1;
        }
        duals
    }
}

/// |d|² from which on a tangent vector is scaled back, by `SHORTER`, so that it never overflows. The powers of two keep all digits.
const LONG: f64 = (1_u128 << 120) as f64;
const SHORTER: f64 = 1.0 / (1_u64 << 60) as f64;

impl<R: Scalar, Y: crate::Dynamics<D, P>, const D: usize, const P: usize> Motion<R>
    for WithTangent<R, Y, D, P>
{
    type State = Variational<R, D>;

    /// The errors of the tangent vector are relative to its length.
    #[inline(always)]
    fn mean_square(
        &self,
        a: &Self::State,
        b: &Self::State,
        error: &Self::State,
        tolerance: f64,
    ) -> R {
        let n = self.system.dimension() as f64;
        let tangent = dot(&error.d, &error.d) / dot(&b.d, &b.d) / (tolerance * tolerance);
        let all = squares(&a.x, &b.x, &error.x, tolerance)
            + squares(&a.growth, &b.growth, &error.growth, tolerance)
            + tangent * n;
        all / (2.0 * n + 2.0)
    }

    #[inline(always)]
    fn settled(
        &self,
        before: &Self::State,
        mut after: Self::State,
        weight: R,
        grows: bool,
    ) -> Self::State {
        let length = dot(&after.d, &after.d);
        if grows {
            let growth = (length / dot(&before.d, &before.d)).ln() * 0.5;
            let [l, w] = before.growth;
            after.growth = [l + growth, w + growth * weight];
        }
        let long = R::of(LONG).less(length);
        let short = length.less(R::of(1.0 / LONG));
        let factor = R::select(long, R::of(SHORTER), R::of(1.0));
        let factor = R::select(short, R::of(1.0 / SHORTER), factor);
        after.d = Vector::map(after.d, |d| d * factor);
        after
    }
}

impl<R: Scalar, Y: Rates<D, P>, const D: usize, const P: usize> Rate<R>
    for WithTangent<R, Y, D, P>
{
    #[inline(always)]
    fn rate(&self, t: R, y: &Self::State) -> Self::State {
        let time = Dual {
            value: t,
            slope: R::of(0.0),
        };
        let rate = self.system.rate(time, &y.duals(), &self.duals());
        let mut rate = Variational::of_duals(rate, y.growth);
        let growth = dot(&y.d, &rate.d) / dot(&y.d, &y.d);
        rate.growth = [growth, growth * t];
        rate
    }
}

impl<R: Scalar, Y: Splits<D, P>, const D: usize, const P: usize> Split<R>
    for WithTangent<R, Y, D, P>
{
    #[inline(always)]
    fn drift(&self, h: R, y: &Self::State) -> Self::State {
        let h = Dual {
            value: h,
            slope: R::of(0.0),
        };
        Variational::of_duals(self.system.drift(h, &y.duals(), &self.duals()), y.growth)
    }
    #[inline(always)]
    fn kick(&self, h: R, y: &Self::State) -> Self::State {
        let h = Dual {
            value: h,
            slope: R::of(0.0),
        };
        Variational::of_duals(self.system.kick(h, &y.duals(), &self.duals()), y.growth)
    }
}

impl<R: Scalar, Y: Iterates<D, P>, const D: usize, const P: usize> Iterate<R>
    for WithTangent<R, Y, D, P>
{
    #[inline(always)]
    fn iterate(&self, y: &Self::State) -> Self::State {
        Variational::of_duals(self.system.iterate(&y.duals(), &self.duals()), y.growth)
    }
}

impl<R: Scalar, Y: crate::Dynamics<D, P>, const D: usize, const P: usize> Evolution<R, D, P>
    for WithTangent<R, Y, D, P>
{
    type System = Y;
    const HAS_TANGENT: bool = true;

    #[inline(always)]
    fn new(system: Y, parameters: [R; P]) -> Self {
        Self { system, parameters }
    }
    #[inline(always)]
    fn begin(&self, x: [R; D]) -> Self::State {
        let mut d = [R::of(0.0); D];
        d[0] = R::of(1.0);
        Variational {
            x: self.system.begin(x, &self.parameters),
            d,
            growth: [R::of(0.0); 2],
        }
    }
    #[inline(always)]
    fn numbers(state: &Self::State) -> &[R; D] {
        &state.x
    }
    #[inline(always)]
    fn growth(state: &Self::State) -> [R; 2] {
        state.growth
    }
    #[inline(always)]
    fn has_outcomes(&self) -> bool {
        self.system.has_outcomes()
    }
    #[inline(always)]
    fn outcome(&self, state: &Self::State) -> R {
        let mut found = Outcomes::none();
        self.system.outcomes(&state.x, &self.parameters, &mut found);
        found.code
    }
}

/// The state in the lanes where `mask` holds, another one elsewhere.
#[inline(always)]
pub fn select<R: Scalar, V: Vector<R>>(mask: R::Mask, yes: V, no: V) -> V {
    yes.zip(no, |yes, no| R::select(mask, yes, no))
}
