//! What integrators work on: positions x, velocities v and the accelerations a(x) of bodies, moved as wholes.

/// Bodies somewhere (in registers, in host memory, on GPUs, spread over ranks) that integrators can move.
///
/// Besides its state and the rates at which that changes, a system holds pairs of vectors that an integrator saves: as many as
/// [`SAVED`](super::SystemIntegrator::SAVED) says.
pub trait System {
    /// Why an operation failed.
    type Error;

    /// a = accelerations at the present positions.
    ///
    /// # Errors
    /// What the engine says.
    fn accelerate(&mut self) -> Result<(), Self::Error>;

    /// v += h · a.
    ///
    /// # Errors
    /// What the engine says.
    fn kick(&mut self, h: f64) -> Result<(), Self::Error>;

    /// x += h · v.
    ///
    /// # Errors
    /// What the engine says.
    fn drift(&mut self, h: f64) -> Result<(), Self::Error>;

    /// v += h · a, then x += h_x · v.
    ///
    /// # Errors
    /// What the engine says.
    fn kick_drift(&mut self, h: f64, h_x: f64) -> Result<(), Self::Error> {
        self.kick(h)?;
        self.drift(h_x)
    }

    /// Does these linear combinations of pairs of vectors, one after the other; in each, the first vectors before the second.
    ///
    /// # Errors
    /// What the engine says.
    fn combine(&mut self, combinations: &[Combination<'_>]) -> Result<(), Self::Error>;
}

/// A pair of vectors of all bodies, of which the first has the dimension of a length times that of the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// Positions and velocities.
    State,
    /// Velocities and accelerations, the rates at which the state changes.
    Rates,
    /// A saved pair, by its number.
    Saved(usize),
    /// Zeros.
    Zero,
}

/// What a [`Combination`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Positions and velocities.
    State,
    /// A saved pair, by its number.
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

/// to = from + Σ cₖ · termₖ, by fused multiply-adds in the order of the terms.
#[derive(Clone, Copy, Debug)]
pub struct Combination<'a> {
    /// What is written.
    pub to: Target,
    /// What the sum begins with.
    pub from: Pair,
    /// At most [`MOST_TERMS`] pairs with their coefficients. None of them is the pair that is written.
    pub terms: &'a [(Pair, f64)],
}

/// The most terms of a [`Combination`].
pub const MOST_TERMS: usize = 4;
/// The most combinations at a time.
pub const MOST_COMBINATIONS: usize = 8;
