//! A specification as plain data, the same for the CPU and for GPUs.

use cuda_std::Plain;

use crate::Law;

/// The largest number of parameters, and of numbers of a state.
pub const MAX_NUMBERS: usize = 32;

/// An integrator. (The numbers are plain constants, because memory of a GPU may hold any number.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Method(pub u32);

macro_rules! methods {
    ($($(#[$doc:meta])* $constant:ident = $number:literal, $name:literal, $help:literal;)*) => {
        impl Method {
            $($(#[$doc])* pub const $constant: Self = Self($number);)*
            /// All integrators, with their names and what they are.
            pub const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$constant, $name, $help)),*];
        }
    };
}
methods! {
    /// [`Rk4`](crate::scheme::Rk4).
    RK4 = 0, "rk4", "Runge-Kutta, order 4, fixed step";
    /// [`Tsit5`](crate::scheme::Tsit5).
    TSIT5 = 1, "tsit5", "Tsitouras (2011), order 5, a step of its own for each trajectory";
    /// [`Dop853`](crate::scheme::Dop853).
    DOP853 = 2, "dop853", "Dormand-Prince, order 8, a step of its own for each trajectory";
    /// [`Leapfrog`](crate::scheme::Leapfrog).
    LEAPFROG = 3, "leapfrog", "order 2, symplectic, fixed step";
    /// [`ForestRuth`](crate::scheme::ForestRuth).
    FOREST_RUTH = 4, "forest-ruth", "Forest & Ruth (1990), order 4, symplectic, fixed step";
    /// [`KahanLi8`](crate::scheme::KahanLi8).
    KAHAN_LI_8 = 5, "kahan-li-8", "Kahan & Li (1997), order 8, symplectic, fixed step";
    /// [`Iteration`](crate::scheme::Iteration).
    ITERATION = 6, "iteration", "the next state of a map";
}

impl Method {
    /// Whether each trajectory has a step of its own, which follows from the tolerance.
    pub fn is_adaptive(self) -> bool {
        self == Self::TSIT5 || self == Self::DOP853
    }
}

/// What each item of an ensemble is, and what is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Job {
    /// The parameters.
    pub parameters: [Law; MAX_NUMBERS],
    /// The state at the start.
    pub start: [Law; MAX_NUMBERS],
    /// The seed of all random numbers.
    pub seed: u64,
    /// Columns and rows of a map.
    pub size: [u64; 2],
    /// Steps of methods with a fixed step; for others the most steps that a trajectory may take.
    pub steps: u64,
    /// The step of methods with a fixed step (time).
    pub step: f64,
    /// The tolerance of the other methods.
    pub tolerance: f64,
    /// The time that the equations are given at the start.
    pub begin: f64,
    /// The time for which items are followed.
    pub end: f64,
    /// The [columns](Column) that are returned, as bits, from the lowest on.
    pub columns: u64,
    /// The integrator.
    pub method: Method,
    /// 1 if there is a tangent vector, otherwise 0.
    pub tangent: u32,
}

// SAFETY: the type is repr(C) and consists of numbers without padding, for which every bit pattern is valid.
unsafe impl Plain for Job {}

impl Job {
    /// The law of a number: the parameters come first, then the state at the start.
    #[inline(always)]
    pub fn law(&self, place: usize) -> &Law {
        match place.checked_sub(MAX_NUMBERS) {
            None => &self.parameters[place],
            Some(place) => &self.start[place],
        }
    }

    /// The value of a number of an item, by its [`law`](Self::law).
    #[inline(always)]
    pub fn number(&self, place: usize, item: u64) -> f64 {
        (self.law(place)).value(self.seed, self.size, place as u32, item)
    }
}

/// What an item can return: these numbers, then those of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column(pub u32);

impl Column {
    /// The outcome: 0 for the end of the time, the number of the outcome from 1 on, or [`NOT_FINITE`] or [`STIFF`].
    pub const OUTCOME: Self = Self(0);
    /// The time at which the item ended.
    pub const TIME: Self = Self(1);
    /// The number of steps, or of attempted ones.
    pub const STEPS: Self = Self(2);
    /// The largest Lyapunov exponent up to the end (per time).
    pub const LYAPUNOV: Self = Self(3);
    /// MEGNO at the end (Cincotta, Giordano & Simó 2003).
    pub const MEGNO: Self = Self(4);
    /// The first number of the state.
    pub const STATE: Self = Self(5);
    /// The names of the columns before the state.
    pub const NAMES: [&'static str; 5] = ["outcome", "time", "steps", "lyapunov", "megno"];
}

/// The outcome of an item with a number that is infinite or not a number.
pub const NOT_FINITE: f64 = -1.0;
/// The outcome of an item whose step became too short, or which took too many.
pub const STIFF: f64 = -2.0;
/// The shortest step, as a share of the whole time.
pub const SHORTEST: f64 = 1e-12;
