//! The interface to the bodies that integrators move: positions x, velocities v and accelerations a(x) of all bodies at once.

/// Bodies that integrators can move, wherever they are stored: in registers, in host memory, on GPUs or distributed over ranks.
///
/// In addition to its state and the state's rates of change, a system holds pairs of vectors that an integrator saves; their number is
/// [`SAVED`](super::SystemIntegrator::SAVED).
pub trait System {
    /// The error of a failed operation.
    type Error;

    /// Computes a, the accelerations at the current positions.
    ///
    /// # Errors
    /// The error of the engine.
    fn accelerate(&mut self) -> Result<(), Self::Error>;

    /// Adds to the velocities: v += h · a.
    ///
    /// # Errors
    /// The error of the engine.
    fn kick(&mut self, h: f64) -> Result<(), Self::Error>;

    /// Adds to the positions: x += h · v.
    ///
    /// # Errors
    /// The error of the engine.
    fn drift(&mut self, h: f64) -> Result<(), Self::Error>;

    /// Does v += h · a, then x += h_x · v.
    ///
    /// # Errors
    /// The error of the engine.
    #[inline(always)]
    fn kick_drift(&mut self, h: f64, h_x: f64) -> Result<(), Self::Error> {
        self.kick(h)?;
        self.drift(h_x)
    }

    /// Computes these linear combinations of pairs of vectors one after another; in each, the first vectors come before the second.
    ///
    /// # Errors
    /// The error of the engine.
    fn combine(&mut self, combinations: &[Combination<'_>]) -> Result<(), Self::Error>;
}

/// A pair of vectors of all bodies; the first has the dimension of the second times a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// Positions and velocities.
    State,
    /// Velocities and accelerations, which are the rates of change of the state.
    Rates,
    /// A saved pair, given by its index.
    Saved(usize),
    /// Zeros.
    Zero,
}

/// The pair that a [`Combination`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Positions and velocities.
    State,
    /// A saved pair, given by its index.
    Saved(usize),
}

impl From<Target> for Pair {
    #[inline(always)]
    fn from(target: Target) -> Self {
        match target {
            Target::State => Self::State,
            Target::Saved(number) => Self::Saved(number),
        }
    }
}

/// The sum to = from + Σ cₖ · termₖ, computed by fused multiply-adds in the order of the terms.
#[derive(Clone, Copy, Debug)]
pub struct Combination<'a> {
    /// The pair that is written.
    pub to: Target,
    /// The first term of the sum.
    pub from: Pair,
    /// Up to [`MAX_TERMS`] pairs with their coefficients. The written pair must not be among them.
    pub terms: &'a [(Pair, f64)],
}

impl<'a> Combination<'a> {
    /// The combination with these fields.
    #[inline(always)]
    pub fn of(to: Target, from: Pair, terms: &'a [(Pair, f64)]) -> Self {
        Self { to, from, terms }
    }
}

/// The largest number of terms of a [`Combination`].
pub const MAX_TERMS: usize = 4;
/// The largest number of combinations in one call.
pub const MAX_COMBINATIONS: usize = 8;
