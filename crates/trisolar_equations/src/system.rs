//! What users implement, and the interface that all kinds of systems have for the loops.

use core::fmt::Debug;

use crate::{Mask as _, Scalar};

/// A name, and the default of the parameter or the start value that has it.
pub type Named = (&'static str, f64);

/// A system: its names and defaults. Its equations are a [`Flow`], a [`Hamiltonian`] or an [`IteratedMap`].
pub trait System: Copy + Default + Debug + Send + Sync + 'static {
    /// A word, for commands and files.
    const NAME: &'static str;
    /// A title for pictures.
    const LABEL: &'static str;
    /// The parameters with their defaults.
    const PARAMETERS: &'static [Named];
    /// The numbers of the state with their defaults at the start; the coordinates before the momenta.
    const STATE: &'static [Named];
    /// The names of the outcomes, in the order in which `outcomes` calls [`Outcomes::when`].
    const OUTCOMES: &'static [&'static str] = &[];
    /// The time to which a run goes by default; iterations of a map.
    const END: f64 = 100.0;
    /// The step of methods with a fixed one by default.
    const STEP: f64 = 0.01;
}

/// An ordinary differential equation of `N` numbers with `P` parameters.
pub trait Flow<const N: usize, const P: usize>: System {
    /// The derivative of the state at the time `t`.
    fn rhs<R: Scalar>(&self, t: R, state: [R; N], parameters: [R; P]) -> [R; N];

    /// The state at the start, from the given one: for numbers that follow from others, whose default is NaN.
    #[inline(always)]
    fn begin<R: Scalar>(&self, state: [R; N], parameters: [R; P]) -> [R; N] {
        let _ = parameters;
        state
    }

    /// What ends a run before its time.
    #[inline(always)]
    fn outcomes<R: Scalar>(&self, state: [R; N], parameters: [R; P], found: &mut Outcomes<R>) {
        let _ = (state, parameters, found);
    }
}

/// A Hamiltonian T(p) + V(q) with `N` degrees of freedom and `P` parameters. It does not depend on the time.
pub trait Hamiltonian<const N: usize, const P: usize>: System {
    /// dT/dp, the velocities.
    fn velocities<R: Scalar>(&self, momenta: [R; N], parameters: [R; P]) -> [R; N];

    /// -dV/dq, the forces.
    fn forces<R: Scalar>(&self, coordinates: [R; N], parameters: [R; P]) -> [R; N];

    /// The coordinates and the momenta at the start, from the given ones: for numbers that follow from others, whose default is NaN.
    #[inline(always)]
    fn begin<R: Scalar>(
        &self,
        coordinates: [R; N],
        momenta: [R; N],
        parameters: [R; P],
    ) -> ([R; N], [R; N]) {
        let _ = parameters;
        (coordinates, momenta)
    }

    /// What ends a run before its time.
    #[inline(always)]
    fn outcomes<R: Scalar>(
        &self,
        coordinates: [R; N],
        momenta: [R; N],
        parameters: [R; P],
        found: &mut Outcomes<R>,
    ) {
        let _ = (coordinates, momenta, parameters, found);
    }
}

/// An iterated map of `N` numbers with `P` parameters.
pub trait IteratedMap<const N: usize, const P: usize>: System {
    /// The next state.
    fn next<R: Scalar>(&self, state: [R; N], parameters: [R; P]) -> [R; N];

    /// The state at the start, from the given one: for numbers that follow from others, whose default is NaN.
    #[inline(always)]
    fn begin<R: Scalar>(&self, state: [R; N], parameters: [R; P]) -> [R; N] {
        let _ = parameters;
        state
    }

    /// What ends a run before its time.
    #[inline(always)]
    fn outcomes<R: Scalar>(&self, state: [R; N], parameters: [R; P], found: &mut Outcomes<R>) {
        let _ = (state, parameters, found);
    }
}

/// Which outcome each lane has reached.
#[derive(Clone, Copy, Debug)]
pub struct Outcomes<R> {
    /// The number of the outcome from 1 on, and 0 for none.
    pub code: R,
    asked: f64,
}

impl<R: Scalar> Outcomes<R> {
    /// No outcome yet.
    #[inline(always)]
    pub fn none() -> Self {
        Self {
            code: R::of(0.0),
            asked: 0.0,
        }
    }

    /// The next outcome of the list is reached where this number is above 0. Where several are, the first counts.
    #[inline(always)]
    pub fn when(&mut self, margin: R) {
        self.asked += 1.0;
        let first = self.code.less(R::of(0.5));
        let reached = R::of(0.0).less(margin).and(first);
        self.code = R::select(reached, R::of(self.asked), self.code);
    }
}

/// What the loops ask of a system whose state has `D` numbers and which has `P` parameters. For equations that are interpreted, `D` and `P`
/// may be larger than what the system needs: the surplus numbers are 0 and have derivative 0.
pub trait Dynamics<const D: usize, const P: usize>: Copy {
    /// How many numbers the state has.
    #[inline(always)]
    fn dimension(&self) -> usize {
        D
    }

    /// The state at the start, from the given one.
    #[inline(always)]
    fn begin<R: Scalar>(&self, state: [R; D], parameters: &[R; P]) -> [R; D] {
        let _ = parameters;
        state
    }

    /// Whether the system has outcomes.
    fn has_outcomes(&self) -> bool;

    /// Tells which outcome the state has reached.
    fn outcomes<R: Scalar>(&self, state: &[R; D], parameters: &[R; P], found: &mut Outcomes<R>);
}

/// Systems that have a derivative.
pub trait Rates<const D: usize, const P: usize>: Dynamics<D, P> {
    /// The derivative of the state.
    fn rate<R: Scalar>(&self, t: R, state: &[R; D], parameters: &[R; P]) -> [R; D];
}

/// Systems for symplectic integrators.
pub trait Splits<const D: usize, const P: usize>: Rates<D, P> {
    /// Moves the coordinates for the time `h` while the momenta stay.
    fn drift<R: Scalar>(&self, h: R, state: &[R; D], parameters: &[R; P]) -> [R; D];

    /// Changes the momenta for the time `h` while the coordinates stay.
    fn kick<R: Scalar>(&self, h: R, state: &[R; D], parameters: &[R; P]) -> [R; D];
}

/// Systems that are iterated.
pub trait Iterates<const D: usize, const P: usize>: Dynamics<D, P> {
    /// The next state.
    fn iterate<R: Scalar>(&self, state: &[R; D], parameters: &[R; P]) -> [R; D];
}

/// A [`Flow`] as [`Dynamics`].
#[derive(Clone, Copy, Debug, Default)]
pub struct OfFlow<S>(pub S);
/// A [`Hamiltonian`] of `N` degrees of freedom as [`Dynamics`].
#[derive(Clone, Copy, Debug, Default)]
pub struct OfHamiltonian<S, const N: usize>(pub S);
/// An [`IteratedMap`] as [`Dynamics`].
#[derive(Clone, Copy, Debug, Default)]
pub struct OfMap<S>(pub S);

macro_rules! dynamics {
    ($name:ident, $trait:ident) => {
        impl<S: $trait<D, P>, const D: usize, const P: usize> Dynamics<D, P> for $name<S> {
            #[inline(always)]
            fn has_outcomes(&self) -> bool {
                !S::OUTCOMES.is_empty()
            }

            #[inline(always)]
            fn begin<R: Scalar>(&self, x: [R; D], p: &[R; P]) -> [R; D] {
                self.0.begin(x, *p)
            }

            #[inline(always)]
            fn outcomes<R: Scalar>(&self, x: &[R; D], p: &[R; P], found: &mut Outcomes<R>) {
                self.0.outcomes(*x, *p, found);
            }
        }
    };
}
dynamics!(OfFlow, Flow);
dynamics!(OfMap, IteratedMap);

impl<S: Flow<D, P>, const D: usize, const P: usize> Rates<D, P> for OfFlow<S> {
    #[inline(always)]
    fn rate<R: Scalar>(&self, t: R, x: &[R; D], p: &[R; P]) -> [R; D] {
        self.0.rhs(t, *x, *p)
    }
}

impl<S: IteratedMap<D, P>, const D: usize, const P: usize> Iterates<D, P> for OfMap<S> {
    #[inline(always)]
    fn iterate<R: Scalar>(&self, x: &[R; D], p: &[R; P]) -> [R; D] {
        self.0.next(*x, *p)
    }
}

/// `N` numbers of a state from the place `first` on.
#[inline(always)]
fn part<R: Scalar, const N: usize, const D: usize>(x: &[R; D], first: usize) -> [R; N] {
    let mut part = [x[0]; N];
    let mut i = 0;
    while i < N {
        part[i] = x[first + i];
        i += 1;
    }
    part
}

/// Coordinates and momenta as a state.
#[inline(always)]
fn joined<R: Scalar, const N: usize, const D: usize>(q: [R; N], p: [R; N]) -> [R; D] {
    let mut state = [R::of(0.0); D];
    let mut i = 0;
    while i < N {
        state[i] = q[i];
        state[N + i] = p[i];
        i += 1;
    }
    state
}

/// The state with `h` times these numbers added from the place `first` on.
#[inline(always)]
fn moved<R: Scalar, const N: usize, const D: usize>(
    x: &[R; D],
    first: usize,
    h: R,
    by: [R; N],
) -> [R; D] {
    let mut moved = *x;
    let mut i = 0;
    while i < N {
        moved[first + i] = x[first + i] + h * by[i];
        i += 1;
    }
    moved
}

impl<S: Hamiltonian<N, P>, const N: usize, const D: usize, const P: usize> Dynamics<D, P>
    for OfHamiltonian<S, N>
{
    #[inline(always)]
    fn has_outcomes(&self) -> bool {
        !S::OUTCOMES.is_empty()
    }

    #[inline(always)]
    fn begin<R: Scalar>(&self, x: [R; D], p: &[R; P]) -> [R; D] {
        let (q, p) = self.0.begin(part(&x, 0), part(&x, N), *p);
        joined(q, p)
    }

    #[inline(always)]
    fn outcomes<R: Scalar>(&self, x: &[R; D], p: &[R; P], found: &mut Outcomes<R>) {
        self.0.outcomes(part(x, 0), part(x, N), *p, found);
    }
}

impl<S: Hamiltonian<N, P>, const N: usize, const D: usize, const P: usize> Rates<D, P>
    for OfHamiltonian<S, N>
{
    #[inline(always)]
    fn rate<R: Scalar>(&self, _: R, x: &[R; D], p: &[R; P]) -> [R; D] {
        const { assert!(D == 2 * N, "the state has the coordinates and the momenta") };
        let velocities = self.0.velocities(part(x, N), *p);
        joined(velocities, self.0.forces(part(x, 0), *p))
    }
}

impl<S: Hamiltonian<N, P>, const N: usize, const D: usize, const P: usize> Splits<D, P>
    for OfHamiltonian<S, N>
{
    #[inline(always)]
    fn drift<R: Scalar>(&self, h: R, x: &[R; D], p: &[R; P]) -> [R; D] {
        moved(x, 0, h, self.0.velocities(part(x, N), *p))
    }

    #[inline(always)]
    fn kick<R: Scalar>(&self, h: R, x: &[R; D], p: &[R; P]) -> [R; D] {
        moved(x, N, h, self.0.forces(part(x, 0), *p))
    }
}
