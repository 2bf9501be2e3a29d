//! The numbers in which the physics is computed: the trait [`Real`], and one file for each number that implements it.
//!
//! | precision | number | state | r⁻³ | CPU and GPU |
//! |---|---|---|---|---|
//! | `f64` | `f64` | `f64` | `f64`, [`inv_cube`] | equal bits |
//! | `fast` | [`Fast`] | `f64` | `f64`, seeded by the GPU's approximate reciprocal root | equal to within rounding |
//! | `mixed` | [`Mixed`] | `f64` | `f32` | equal bits |
//! | `f32` of maps | `f32` | `f32` | `f32` | equal bits |
//! | `f32` of N-body runs on GPUs | [`FastF32`] | `f32` | the GPU's approximate reciprocal root | equal to within rounding |
//! | `fixed` | [`Fixed`] | 64-bit integers | `f64` | equal bits |
//! | `float-float` | [`FloatFloat`] | sums of two `f32` | float-float, seeded in `f32` | equal bits |
//! | `double-double` | [`DoubleDouble`] | sums of two `f64` | double-double, seeded in `f64` | equal bits |
//!
//! [`Dual`] numbers carry a derivative, based on any of these. The CPU's vectors of `f64` and `f32` also implement the trait. They are
//! defined with the instruction sets of the host; the wrappers above are generic over them.
//!
//! A precision of maps consists of one file here and one row of [`precisions`](crate::precisions).

use core::fmt::Debug;
use core::mem::MaybeUninit;
use core::ops::{Add, Mul, Neg, Sub};

pub mod bits;
mod dual;
mod f32;
mod f64;
mod fast;
mod fast_f32;
mod fixed;
mod fma;
pub mod inv_cube;
mod mixed;
mod pair;

pub use self::bits::Bits;
pub use self::f32::{GUESS, Single};
pub use self::f64::{divide, fma, root, sqrt};
pub use self::fma::fma_f32;
pub use dual::Dual;
pub use fast::Fast;
pub use fast_f32::FastF32;
pub use fixed::{FRACTION_BITS, Fixed};
pub use mixed::Mixed;
pub use pair::{DoubleDouble, FloatFloat, exact_product, exact_sum};

/// A value of up to 106 bits, as the unevaluated sum of two `f64`, of which the second is the rounding error of the first.
pub type Long = [f64; 2];

/// The largest number of repetitions of `each!`.
pub const MAX_REPETITIONS: usize = 15;

/// Evaluates an expression for each number below a constant, which is at most [`MAX_REPETITIONS`]. The repetitions are written out, so
/// that arrays indexed by the number stay in a GPU's registers whether or not LLVM unrolls loops. (A closure would not do, because it
/// might not be inlined into a function that uses a CPU's vector instructions.)
macro_rules! each {
    ($count:expr, |$k:ident| $what:expr) => {
        const { assert!($count <= $crate::number::MAX_REPETITIONS) };
        $crate::number::each!(@ $count, $k, $what, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14);
    };
    (@ $count:expr, $k:ident, $what:expr, $($number:literal)*) => {$(
        if $count > $number {
            let $k: usize = $number;
            $what;
        }
    )*};
}
pub(crate) use each;

/// The number itself. A compiler for GPUs takes it for another one, whose value is first known here, in a register of class `$register`.
macro_rules! known_here {
    ($register:ident, $number:expr) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            let mut number = $number;
            // SAFETY: the assembly contains no instruction; the register only has to hold the number at this point.
            unsafe {
                core::arch::asm!("/* {0} */", inout($register) number, options(nomem, nostack))
            };
            number
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            $number
        }
    }};
}
pub(crate) use known_here;

/// Data of several lanes side by side. The data of one lane can be taken out and replaced.
pub trait PerLane: Copy {
    /// The same data of a single lane.
    type One: Copy;

    /// The same data in every lane.
    fn spread(one: &Self::One) -> Self;
    /// The data of one lane.
    fn lane(&self, lane: usize) -> Self::One;
    /// Replaces one lane by the same lane of `from`.
    fn set_lane(&mut self, lane: usize, from: &Self);
}

/// Implements [`PerLane`] field by field; constants follow the type parameters after a semicolon.
macro_rules! per_lane {
    ($name:ident<$($parameter:ident),+ $(; $($constant:ident),+)?> { $($field:tt),+ }) => {
        impl<$($parameter: $crate::PerLane,)+ $($(const $constant: usize),+)?> $crate::PerLane
            for $name<$($parameter,)+ $($($constant),+)?>
        {
            type One = $name<$($parameter::One,)+ $($($constant),+)?>;

            #[inline(always)]
            fn spread(one: &Self::One) -> Self {
                Self { $($field: $crate::PerLane::spread(&one.$field)),+ }
            }

            #[inline(always)]
            fn lane(&self, lane: usize) -> Self::One {
                $name { $($field: self.$field.lane(lane)),+ }
            }

            #[inline(always)]
            fn set_lane(&mut self, lane: usize, from: &Self) {
                $(self.$field.set_lane(lane, &from.$field);)+
            }
        }
    };
}
pub(crate) use per_lane;

/// Implements sums and differences field by field.
macro_rules! sums {
    ($name:ident { $($field:ident),+ }) => {
        impl<R: $crate::Real> core::ops::Add for $name<R> {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                Self { $($field: self.$field + o.$field),+ }
            }
        }

        impl<R: $crate::Real> core::ops::Sub for $name<R> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                Self { $($field: self.$field - o.$field),+ }
            }
        }
    };
}
pub(crate) use sums;

/// Uses `each!` instead of closures, which would keep the state of pixels in memory.
impl<T: PerLane, const N: usize> PerLane for [T; N] {
    type One = [T::One; N];

    #[inline(always)]
    fn spread(one: &Self::One) -> Self {
        let mut lanes = MaybeUninit::<[T; N]>::uninit();
        let first = lanes.as_mut_ptr().cast::<T>();
        // SAFETY: there are N places, one for each element.
        each!(N, |i| unsafe { first.add(i).write(T::spread(&one[i])) });
        // SAFETY: `each` has written all of them.
        unsafe { lanes.assume_init() }
    }

    #[inline(always)]
    fn lane(&self, lane: usize) -> Self::One {
        let mut one = MaybeUninit::<[T::One; N]>::uninit();
        let first = one.as_mut_ptr().cast::<T::One>();
        // SAFETY: there are N places, one for each element.
        each!(N, |i| unsafe { first.add(i).write(self[i].lane(lane)) });
        // SAFETY: `each` has written all of them.
        unsafe { one.assume_init() }
    }

    #[inline(always)]
    fn set_lane(&mut self, lane: usize, from: &Self) {
        let mut i = 0;
        while i < N {
            self[i].set_lane(lane, &from[i]);
            i += 1;
        }
    }
}

/// Data that consist of numbers.
pub trait Numbers<R> {
    /// Applies `f` to each of the numbers.
    fn for_each(&mut self, f: &mut impl FnMut(&mut R));
}

impl<R, T: Numbers<R>, const N: usize> Numbers<R> for [T; N] {
    #[inline(always)]
    fn for_each(&mut self, f: &mut impl FnMut(&mut R)) {
        let mut i = 0;
        while i < N {
            self[i].for_each(f);
            i += 1;
        }
    }
}

/// A real number, or several numbers that go through the same operations side by side, one in each lane.
///
/// Every operation is correctly rounded IEEE arithmetic or a fixed sequence of such operations, so that a computation has the same
/// bits wherever it runs. ([`Fast`] and [`FastF32`] are exceptions on GPUs.)
pub trait Real:
    PerLane<One = <Self as Real>::Lane>
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
    /// The number of a single lane.
    type Lane: Real;

    /// The number of lanes.
    const LANES: usize;

    /// Whether it is cheaper to compute the inverse cubes of several numbers together than one after another.
    const TOGETHER: bool;

    /// Whether all-pairs sums put a [floor](crate::physics::softening) under the softening length, so that r² = 0 does
    /// not occur in them.
    const HAS_SOFTENING_FLOOR: bool;

    /// The result of a comparison: a `bool`, or one for each lane.
    type Mask: Mask;

    /// An array with a count for each lane.
    type Counts: Copy + Debug + AsRef<[u32]> + AsMut<[u32]>;

    /// Numbers that are only used as factors, such as coefficients and masses; they have no derivative even if these numbers have one.
    type Constant: Real<Lane = <Self::Lane as Real>::Constant>;

    /// The numbers in which forces are computed.
    type Force: Real<Lane = <Self::Lane as Real>::Force>;

    /// The same count for each lane.
    fn counts(x: u32) -> Self::Counts;

    /// The nearest number to `x`, in every lane.
    fn from_f64(x: f64) -> Self;

    /// The nearest number to `x`, in every lane. Numbers of at most 53 bits ignore the second part.
    #[inline(always)]
    fn from_long(x: Long) -> Self {
        Self::from_f64(x[0])
    }

    /// The nearest number to a - b, in every lane. Numbers of at most 53 bits round the difference of the first parts to `f64` first.
    #[inline(always)]
    fn from_difference(a: Long, b: Long) -> Self {
        Self::from_f64(a[0] - b[0])
    }

    /// The nearest constant to `x`.
    #[inline(always)]
    fn constant(x: f64) -> Self::Constant {
        Self::Constant::from_f64(x)
    }

    /// A constant as one of these numbers.
    fn from_constant(k: Self::Constant) -> Self;

    /// The nearest `f64` to the number in a lane.
    fn to_f64(self, lane: usize) -> f64;

    /// The number converted to those in which forces are computed.
    fn to_force(self) -> Self::Force;

    /// Adds a pull: `self` + b · y + a · x, by fused multiply-adds with the last term first; or rounded once to these numbers if
    /// forces are computed in others.
    fn add_pulls(self, factors: [Self::Force; 2], vectors: [Self::Force; 2]) -> Self;

    /// +0.
    #[inline(always)]
    fn zero() -> Self {
        Self::from_f64(0.0)
    }

    /// Returns the number itself, but computed at this point: on a GPU, a postponed sum would keep both of its terms in registers.
    #[inline(always)]
    fn now(self) -> Self {
        self
    }

    /// `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// `self`, which is not negative, + Σ x², by fused multiply-adds with the first component first.
    #[inline(always)]
    fn plus_squares<const K: usize>(self, x: [Self; K]) -> Self {
        let mut sum = self;
        each!(K, |k| sum = x[k].mul_add(x[k], sum));
        sum
    }

    /// k · `self`.
    #[inline(always)]
    fn scaled(self, k: Self::Constant) -> Self {
        Self::from_constant(k) * self
    }

    /// `self` + k · x, rounded once.
    #[inline(always)]
    fn plus_scaled(self, k: Self::Constant, x: Self) -> Self {
        Self::from_constant(k).mul_add(x, self)
    }

    /// `self <= other`; false where either is NaN.
    fn at_most(self, other: Self) -> Self::Mask;

    /// `yes` in the lanes where `mask` holds, `no` in the others.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// r⁻³ for `self` = r². Each implementation documents its range and accuracy.
    fn inv_cube(self) -> Self;

    /// [`inv_cube`](Self::inv_cube) of several numbers, for which one test decides whether any of them needs the slow path.
    #[inline(always)]
    fn inv_cubes<const K: usize>(r2: [Self; K]) -> [Self; K] {
        let mut w = r2;
        each!(K, |k| w[k] = r2[k].inv_cube());
        w
    }

    /// [`inv_cubes`](Self::inv_cubes) without the slow path: a number that needs it gets a meaningless result. `ranges`, at first 0, collects what
    /// [`were_ordinary`](Self::were_ordinary) needs. So a loop has no branches, and one test follows it.
    #[inline(always)]
    fn inv_cubes_if_ordinary<const K: usize>(r2: [Self; K], _ranges: &mut u32) -> [Self; K] {
        Self::inv_cubes(r2)
    }

    /// Whether all results of the calls of [`inv_cubes_if_ordinary`](Self::inv_cubes_if_ordinary) that collected `ranges` are right.
    #[inline(always)]
    fn were_ordinary(_ranges: u32) -> bool {
        true
    }

    /// The factor of [`step_root`](Self::step_root), a power of two.
    const STEP_ROOT: f64 = 1.0;

    /// 1/√x for x = `self`, times [`STEP_ROOT`](Self::STEP_ROOT), with the accuracy of the regularised integrator's steps: within 2 ULP,
    /// unless the number is one that trades accuracy for speed. Numbers with [`Bits`] need an ordinary x.
    #[inline(always)]
    fn step_root(self) -> Self {
        self * self.inv_cube()
    }

    /// h/x for x = `self` above 0, with the accuracy of the regularised integrator's steps, as for [`step_root`](Self::step_root).
    #[inline(always)]
    fn step_quotient(self, h: Self) -> Self {
        let square = self * self;
        h * (square * square.inv_cube())
    }

    /// `self` / `by`, correctly rounded to `f64`; with all digits of a number that has more.
    #[inline(always)]
    fn quotient(self, by: Self) -> Self {
        let mut result = self;
        let mut lane = 0;
        while lane < Self::LANES {
            let quotient = divide(self.to_f64(lane), by.to_f64(lane));
            result.set_lane(lane, &Self::from_f64(quotient));
            lane += 1;
        }
        result
    }

    /// √`self`, correctly rounded to `f64`; with all digits of a number that has more.
    #[inline(always)]
    fn square_root(self) -> Self {
        let mut result = self;
        let mut lane = 0;
        while lane < Self::LANES {
            result.set_lane(lane, &Self::from_f64(root(self.to_f64(lane))));
            lane += 1;
        }
        result
    }

    /// h · 2⁻ʲ, where 4ʲ is the power of four nearest to `self` in ratio: j = 0 for `self` in [1/2, 2).
    #[inline(always)]
    fn over_root_exponent(self, h: Self) -> Self {
        let mut factor = h;
        let mut lane = 0;
        while lane < Self::LANES {
            let power = f64::over_root_exponent(self.to_f64(lane), 1.0);
            factor.set_lane(lane, &Self::from_f64(power));
            lane += 1;
        }
        h * factor
    }

    /// Whether `self`, which is not negative, is 0.
    #[inline(always)]
    fn is_zero(self) -> Self::Mask {
        self.at_most(Self::zero())
    }

    /// r⁻³ for `self` = r², but 0 for r² = 0: a body exerts no force on itself, and two bodies at the same place exert none on each
    /// other.
    #[inline(always)]
    fn inv_cube_or_zero(self) -> Self {
        let at_zero = self.is_zero();
        if Self::LANES > 1 {
            Self::select(at_zero, Self::zero(), self.inv_cube())
        } else if at_zero.all() {
            // A branch is shorter than what it skips.
            Self::zero()
        } else {
            self.inv_cube()
        }
    }

    /// [`inv_cube_or_zero`](Self::inv_cube_or_zero) of several numbers, for which one test decides whether any of them needs the slow
    /// path.
    #[inline(always)]
    fn inv_cubes_or_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
        let mut w = r2;
        each!(K, |k| w[k] = r2[k].inv_cube_or_zero());
        w
    }
}

/// The items of [`Real`] for a number of `$lanes` lanes, or of as many as another number has, that is a constant itself and in which forces
/// are computed.
#[macro_export]
macro_rules! own_constants_and_forces {
    ($lanes:literal) => {
        type Counts = [u32; $lanes];

        #[inline(always)]
        fn counts(x: u32) -> Self::Counts {
            [x; $lanes]
        }

        $crate::own_constants_and_forces!(@);
    };
    (as $other:ident) => {
        $crate::own_constants_and_forces!(lanes of $other);
        $crate::own_constants_and_forces!(@);
    };
    (lanes of $other:ident) => {
        const LANES: usize = $other::LANES;
        type Mask = $other::Mask;
        type Counts = $other::Counts;

        #[inline(always)]
        fn counts(x: u32) -> Self::Counts {
            $other::counts(x)
        }
    };
    (@) => {
        type Constant = Self;
        type Force = Self;

        #[inline(always)]
        fn from_constant(k: Self) -> Self {
            k
        }

        #[inline(always)]
        fn to_force(self) -> Self {
            self
        }

        #[inline(always)]
        fn add_pulls(self, factors: [Self; 2], vectors: [Self; 2]) -> Self {
            let ([a, b], [x, y]) = (factors, vectors);
            $crate::Real::mul_add(a, x, $crate::Real::mul_add(b, y, self))
        }
    };
}

/// A precision of maps: a number, and its counterpart in a CPU's lanes.
pub trait Precision: 'static + Real<Lane = Self> {
    /// Its name on the command line and in files.
    const NAME: &'static str;
    /// What a user should know to choose it, for the help.
    const HELP: &'static str;
    /// Earlier names that are still accepted.
    const FORMER_NAMES: &'static [&'static str] = &[];
    /// Whether CPUs and GPUs give the same bits.
    const IS_PORTABLE: bool = true;
    /// The largest start distance of the bodies that leaves them room to move (length).
    const LARGEST: f64 = f64::INFINITY;
    /// The largest critical distance, which is squared (length).
    const LARGEST_TO_SQUARE: f64 = Self::LARGEST;

    /// Numbers of this precision side by side, in lanes of `f64` or of `f32`.
    type OnLanes<D: inv_cube::Seeded, S: Single>: Real;
}

/// The table of precisions. Calls `$callback` (the path of a macro, in braces) with the context and one row for each precision: its
/// name as a type, its number, its name in kernel names, and whether lengths are `scaled` by a power of two of the user's choice
/// before the computation, or `plain`. The first precision is the default.
#[macro_export]
macro_rules! precisions {
    ($callback:tt $context:tt) => {
        $crate::call! { $callback $context
            F64 {f64} f64 plain,
            Fast {$crate::number::Fast} fast plain,
            Mixed {$crate::number::Mixed<f64>} mixed plain,
            F32 {f32} f32 plain,
            Fixed {$crate::number::Fixed} fixed scaled,
            FloatFloat {$crate::number::FloatFloat<f32>} float_float plain,
            DoubleDouble {$crate::number::DoubleDouble<f64>} double_double plain,
        }
    };
}

/// Calls a macro whose path is in braces: `call! { {path} arguments }`.
#[doc(hidden)]
#[macro_export]
macro_rules! call {
    ({$($callback:tt)+} $($arguments:tt)*) => {
        $($callback)+ ! { $($arguments)* }
    };
}

/// The result of a comparison, lane by lane.
pub trait Mask: Copy {
    /// Whether it holds in every lane.
    fn all(self) -> bool;
    /// Whether it holds in `lane`.
    fn lane(self, lane: usize) -> bool;
}

impl Mask for bool {
    #[inline(always)]
    fn all(self) -> bool {
        self
    }
    #[inline(always)]
    fn lane(self, _lane: usize) -> bool {
        self
    }
}

/// The items of [`Real`] that all numbers with a single lane share.
macro_rules! one_lane {
    () => {
        type Lane = Self;
        const LANES: usize = 1;
        type Mask = bool;
        crate::own_constants_and_forces!(1);

        #[inline(always)]
        fn select(mask: bool, yes: Self, no: Self) -> Self {
            if mask { yes } else { no }
        }
    };
}
use one_lane;

/// Implements [`PerLane`] for a number with a single lane.
macro_rules! single_lane {
    ($($name:ty),*) => {$(
        impl $crate::number::PerLane for $name {
            type One = Self;
            #[inline(always)]
            fn spread(one: &Self) -> Self {
                *one
            }
            #[inline(always)]
            fn lane(&self, _lane: usize) -> Self {
                *self
            }
            #[inline(always)]
            fn set_lane(&mut self, _lane: usize, from: &Self) {
                *self = *from;
            }
        }
    )*};
}
use single_lane;

/// Implements sums, products and negation of a wrapper by those of the wrapped number.
macro_rules! forward {
    ($name:ident $(<$v:ident: $bound:path>)?) => {
        impl$(<$v: $bound>)? core::ops::Add for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                Self(self.0 + o.0)
            }
        }
        impl$(<$v: $bound>)? core::ops::Sub for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                Self(self.0 - o.0)
            }
        }
        impl$(<$v: $bound>)? core::ops::Mul for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                Self(self.0 * o.0)
            }
        }
        impl$(<$v: $bound>)? core::ops::Neg for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }
    };
}
use forward;
