//! Arithmetic and conversions with a direction of rounding: instructions on a GPU, and integers on the CPU, whose instructions round
//! to the nearest number.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Declares one function: a PTX instruction, and an expression for the CPU.
macro_rules! instruction {
    (
        $name:ident, $doc:expr, $ptx:expr, ($($arg:ident),*) $from:ident $register:ident -> $to:ident $target:ident,
        |$($given:ident),*| $host:expr
    ) => {
        #[doc = $doc]
        #[inline]
        #[must_use]
        pub fn $name($($arg: $from),*) -> $to {
            #[cfg(target_arch = "nvptx64")]
            {
                let result: $to;
                // SAFETY: the instruction only computes from registers.
                unsafe {
                    asm!(concat!($ptx, " {}" $(, ", {", stringify!($arg), "}")*, ";"), out($target) result,
                        $($arg = in($register) $arg,)* options(pure, nomem, nostack, preserves_flags));
                }
                result
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                $(let $given = $arg;)*
                $host
            }
        }
    };
}

/// Declares the functions of one operation for all four directions. `$suffix` is the end of the instruction's name, after the
/// direction.
macro_rules! directed {
    ($($name:ident: $says:literal, $ptx:literal $suffix:literal, $arguments:tt $from:ident $register:ident -> $to:ident $target:ident,
        |$($given:ident),* ; $way:ident| $nearest:expr, $host:expr;)*) => {pastey::paste! {$(
        instruction!([<$name _rn>], concat!($says, ", rounded to the nearest number, halves to the even one."),
            concat!($ptx, ".rn.", $suffix), $arguments $from $register -> $to $target, |$($given),*| $nearest);
        instruction!([<$name _rd>], concat!($says, ", rounded down."), concat!($ptx, ".rm.", $suffix),
            $arguments $from $register -> $to $target, |$($given),*| { let $way = exact::Direction::Down; $host });
        instruction!([<$name _ru>], concat!($says, ", rounded up."), concat!($ptx, ".rp.", $suffix),
            $arguments $from $register -> $to $target, |$($given),*| { let $way = exact::Direction::Up; $host });
        instruction!([<$name _rz>], concat!($says, ", rounded towards zero."), concat!($ptx, ".rz.", $suffix),
            $arguments $from $register -> $to $target, |$($given),*| { let $way = exact::Direction::Zero; $host });
    )*}};
}

directed! {
    dadd: "x + y", "add" "f64", (x, y) f64 reg64 -> f64 reg64, |x, y; way| x + y, exact::add(x, y, way);
    dmul: "x y", "mul" "f64", (x, y) f64 reg64 -> f64 reg64, |x, y; way| x * y, exact::mul(x, y, way);
    ddiv: "x / y", "div" "f64", (x, y) f64 reg64 -> f64 reg64, |x, y; way| x / y, exact::div(x, y, way);
    drcp: "1 / x", "rcp" "f64", (x) f64 reg64 -> f64 reg64, |x; way| 1.0 / x, exact::div(1.0, x, way);
    dsqrt: "√x", "sqrt" "f64", (x) f64 reg64 -> f64 reg64, |x; way| x.sqrt(), exact::sqrt(x, way);
    fma: "x y + z", "fma" "f64", (x, y, z) f64 reg64 -> f64 reg64, |x, y, z; way| x.mul_add(y, z), exact::fma(x, y, z, way);
    fadd: "x + y", "add" "f32", (x, y) f32 reg32 -> f32 reg32, |x, y; way| x + y, exact::add(x, y, way);
    fsub: "x - y", "sub" "f32", (x, y) f32 reg32 -> f32 reg32, |x, y; way| x - y, exact::add(x, -y, way);
    fmul: "x y", "mul" "f32", (x, y) f32 reg32 -> f32 reg32, |x, y; way| x * y, exact::mul(x, y, way);
    fdiv: "x / y", "div" "f32", (x, y) f32 reg32 -> f32 reg32, |x, y; way| x / y, exact::div(x, y, way);
    frcp: "1 / x", "rcp" "f32", (x) f32 reg32 -> f32 reg32, |x; way| 1.0 / x, exact::div(1.0, x, way);
    fsqrt: "√x", "sqrt" "f32", (x) f32 reg32 -> f32 reg32, |x; way| x.sqrt(), exact::sqrt(x, way);
    fmaf: "x y + z", "fma" "f32", (x, y, z) f32 reg32 -> f32 reg32, |x, y, z; way| x.mul_add(y, z), exact::fma(x, y, z, way);
    double2float: "The number", "cvt" "f32.f64", (d) f64 reg64 -> f32 reg32, |d; way| d as f32, exact::narrow(d, way);
    int2float: "The integer", "cvt" "f32.s32", (i) i32 reg32 -> f32 reg32, |i; way| i as f32, exact::of_integer(i.into(), way);
    uint2float: "The unsigned integer", "cvt" "f32.u32", (i) i32 reg32 -> f32 reg32, |i; way| i as u32 as f32,
        exact::of_integer((i as u32).into(), way);
    ll2float: "The integer", "cvt" "f32.s64", (l) i64 reg64 -> f32 reg32, |l; way| l as f32, exact::of_integer(l.into(), way);
    ull2float: "The unsigned integer", "cvt" "f32.u64", (l) i64 reg64 -> f32 reg32, |l; way| l as u64 as f32,
        exact::of_integer((l as u64).into(), way);
    ll2double: "The integer", "cvt" "f64.s64", (l) i64 reg64 -> f64 reg64, |l; way| l as f64, exact::of_integer(l.into(), way);
    ull2double: "The unsigned integer", "cvt" "f64.u64", (l) i64 reg64 -> f64 reg64, |l; way| l as u64 as f64,
        exact::of_integer((l as u64).into(), way);
}

/// Operations on the integers of which numbers consist: a significand times a power of 2.
#[cfg(not(target_arch = "nvptx64"))]
mod exact {
    /// A direction of rounding.
    #[derive(Clone, Copy, PartialEq)]
    pub enum Direction {
        Down,
        Up,
        Zero,
    }

    /// A finite number: `significand` · 2^`exponent` with a sign.
    struct Parts {
        negative: bool,
        significand: u64,
        exponent: i32,
    }

    /// `f32` or `f64`.
    pub trait Format: Copy + core::ops::Neg<Output = Self> + core::ops::Div<Output = Self> {
        /// Bits of a significand, with the leading one.
        const PRECISION: u32;
        /// The exponent of the lowest bit of a subnormal number.
        const LEAST: i32;
        const ONE: Self;
        fn bits(self) -> u64;
        fn of(bits: u64) -> Self;
        fn is_finite(self) -> bool;
        fn fma(self, y: Self, z: Self) -> Self;
        fn sqrt(self) -> Self;
    }

    macro_rules! format {
        ($ty:ident, $bits:ident, $precision:literal, $least:literal) => {
            impl Format for $ty {
                const PRECISION: u32 = $precision;
                const LEAST: i32 = $least;
                const ONE: Self = 1.0;
                fn bits(self) -> u64 {
                    self.to_bits().into()
                }
                fn of(bits: u64) -> Self {
                    Self::from_bits(bits as $bits)
                }
                fn is_finite(self) -> bool {
                    self.is_finite()
                }
                fn fma(self, y: Self, z: Self) -> Self {
                    self.mul_add(y, z)
                }
                fn sqrt(self) -> Self {
                    self.sqrt()
                }
            }
        };
    }
    format!(f32, u32, 24, -149);
    format!(f64, u64, 53, -1074);

    /// The bits of infinity.
    fn infinity<F: Format>() -> u64 {
        let exponents = 2 * (-F::LEAST as u64 + 3 - u64::from(F::PRECISION)) - 1;
        exponents << (F::PRECISION - 1)
    }

    /// A number with the magnitude of these bits.
    fn signed<F: Format>(negative: bool, bits: u64) -> F {
        let number = F::of(bits);
        if negative { -number } else { number }
    }

    fn parts<F: Format>(x: F) -> Parts {
        let width = F::PRECISION - 1;
        let magnitude = x.bits() & (infinity::<F>() | ((1 << width) - 1));
        let biased = (magnitude >> width) as i32;
        let leading = u64::from(biased > 0) << width;
        Parts {
            negative: x.bits() != magnitude,
            significand: magnitude & ((1 << width) - 1) | leading,
            exponent: F::LEAST + (biased - 1).max(0),
        }
    }

    /// Rounds `significand` · 2^`exponent`. `more` says that the exact significand is larger by less than 1; it then must have more
    /// bits than the format.
    fn rounded<F: Format>(
        negative: bool,
        significand: u128,
        exponent: i32,
        more: bool,
        way: Direction,
    ) -> F {
        if significand == 0 {
            return signed(negative, 0);
        }
        let length = (128 - significand.leading_zeros()) as i32;
        let lowest = (exponent + length - F::PRECISION as i32).max(F::LEAST);
        let (kept, inexact) = match u32::try_from(lowest - exponent) {
            Ok(128..) => (0, significand != 0 || more),
            Ok(dropped) => {
                let kept = significand >> dropped;
                (kept, kept << dropped != significand || more)
            }
            Err(_) => (significand << (exponent - lowest), more),
        };
        let away = match way {
            Direction::Down => negative,
            Direction::Up => !negative,
            Direction::Zero => false,
        };
        let kept = kept as u64 + u64::from(inexact && away);
        // The leading one of a normal number adds 1 to the exponent.
        let bits = (((lowest - F::LEAST) as u64) << (F::PRECISION - 1)) + kept;
        let most = infinity::<F>() - 1;
        let bits = match bits > most {
            true => most + u64::from(away),
            false => bits,
        };
        signed(negative, bits)
    }

    /// The significand with its leading bit at position `top`, and its exponent.
    fn aligned(significand: u128, exponent: i32, top: u32) -> (u128, i32) {
        let shift = significand.leading_zeros() - (127 - top);
        (significand << shift, exponent - shift as i32)
    }

    pub fn fma<F: Format>(x: F, y: F, z: F, way: Direction) -> F {
        if !(x.is_finite() && y.is_finite() && z.is_finite()) {
            return x.fma(y, z);
        }
        let (a, b, c) = (parts(x), parts(y), parts(z));
        let negative = a.negative != b.negative;
        let product = u128::from(a.significand) * u128::from(b.significand);
        let exponent = a.exponent + b.exponent;
        match (product, c.significand) {
            (0, 0) if negative != c.negative => return signed(way == Direction::Down, 0),
            (0, _) => return z,
            (_, 0) => return rounded(negative, product, exponent, false, way),
            _ => {}
        }
        // Two bits above are for a carry. The bits below are enough that nothing is lost where leading bits cancel.
        let (p, q) = (
            aligned(product, exponent, 125),
            aligned(c.significand.into(), c.exponent, 125),
        );
        let first = (p.1, p.0) >= (q.1, q.0);
        let ((large, exponent), (small, lower)) = if first { (p, q) } else { (q, p) };
        let sign = if first { negative } else { c.negative };
        let shift = (exponent - lower).unsigned_abs();
        let shifted = small.checked_shr(shift).unwrap_or(0);
        let more = shifted.checked_shl(shift).unwrap_or(0) != small;
        let sum = match negative == c.negative {
            true => large + shifted,
            // Less what was shifted out is one less and something more.
            false => large - shifted - u128::from(more),
        };
        let sign = if sum == 0 {
            way == Direction::Down
        } else {
            sign
        };
        rounded(sign, sum, exponent, more, way)
    }

    pub fn add<F: Format>(x: F, y: F, way: Direction) -> F {
        fma(x, F::ONE, y, way)
    }

    pub fn mul<F: Format>(x: F, y: F, way: Direction) -> F {
        let negative = (x.bits() ^ y.bits()) > infinity::<F>() | (infinity::<F>() - 1);
        fma(x, y, signed(negative, 0), way)
    }

    pub fn div<F: Format>(x: F, y: F, way: Direction) -> F {
        let finite = x.is_finite() && y.is_finite();
        if !finite || parts(x).significand == 0 || parts(y).significand == 0 {
            return x / y;
        }
        let (a, b) = (parts(x), parts(y));
        let (above, exponent) = aligned(a.significand.into(), a.exponent, 127);
        let below = u128::from(b.significand);
        let exact = above % below == 0;
        let negative = a.negative != b.negative;
        rounded(negative, above / below, exponent - b.exponent, !exact, way)
    }

    pub fn sqrt<F: Format>(x: F, way: Direction) -> F {
        if !x.is_finite() || parts(x).significand == 0 || parts(x).negative {
            return x.sqrt();
        }
        let x = parts(x);
        let (mut square, mut exponent) = aligned(x.significand.into(), x.exponent, 127);
        if exponent % 2 != 0 {
            (square, exponent) = (square >> 1, exponent + 1);
        }
        let root = square.isqrt();
        rounded(false, root, exponent / 2, root * root != square, way)
    }

    pub fn narrow(x: f64, way: Direction) -> f32 {
        if !x.is_finite() {
            return x as f32;
        }
        let x = parts(x);
        rounded(x.negative, x.significand.into(), x.exponent, false, way)
    }

    pub fn of_integer<F: Format>(integer: i128, way: Direction) -> F {
        rounded(integer < 0, integer.unsigned_abs(), 0, false, way)
    }
}
