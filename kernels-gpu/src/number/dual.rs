//! Dual numbers: a value and its derivative in one direction. A computation with dual numbers is differentiated exactly, operation by
//! operation (Clifford 1873, Proc. London Math. Soc. 4, 381; as automatic differentiation, Griewank & Walther 2008, Evaluating
//! Derivatives).

use core::ops::{Mul, Neg};

use super::{Real, each, per_lane, sums};

/// `value` + ε `derivative`, with ε² = 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Dual<R> {
    /// The number.
    pub value: R,
    /// The derivative with respect to the chosen parameter.
    pub derivative: R,
}

impl<R: Real> Dual<R> {
    /// The same value with a different derivative.
    #[inline(always)]
    pub fn with_derivative(self, derivative: R) -> Self {
        Self { derivative, ..self }
    }

    /// A constant, whose derivative is 0.
    #[inline(always)]
    fn fixed(value: R) -> Self {
        Self {
            value,
            derivative: R::zero(),
        }
    }
}

sums!(Dual { value, derivative });

impl<R: Real> Mul for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self {
            value: self.value * o.value,
            derivative: self.value.mul_add(o.derivative, self.derivative * o.value),
        }
    }
}

impl<R: Real> Neg for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self {
            value: -self.value,
            derivative: -self.derivative,
        }
    }
}

per_lane!(Dual<R> { value, derivative });

/// The derivatives of r⁻³ = s^(-3/2), given the powers `w` of the values: -3/2 w s⁻¹ s′, with s⁻¹ = (s w)².
#[inline(always)]
fn with_derivatives<R: Real, const K: usize>(s: [Dual<R>; K], w: [R; K]) -> [Dual<R>; K] {
    let mut result = s;
    each!(K, |k| {
        let inverse = s[k].value * w[k];
        let rate = (w[k] * (inverse * inverse)).scaled(R::constant(-1.5));
        result[k] = Dual {
            value: w[k],
            derivative: rate * s[k].derivative,
        };
    });
    result
}

/// The values of several numbers.
#[inline(always)]
fn values<R: Real, const K: usize>(s: [Dual<R>; K]) -> [R; K] {
    let mut v = [s[0].value; K];
    each!(K, |k| v[k] = s[k].value);
    v
}

/// Comparisons compare only the values.
impl<R: Real> Real for Dual<R> {
    type Lane = Dual<R::Lane>;
    const TOGETHER: bool = R::TOGETHER;
    const HAS_SOFTENING_FLOOR: bool = R::HAS_SOFTENING_FLOOR;
    crate::own_constants_and_forces!(lanes of R);
    type Constant = R::Constant;
    type Force = Dual<R::Force>;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        Self::fixed(R::from_f64(x))
    }

    #[inline(always)]
    fn from_constant(k: R::Constant) -> Self {
        Self::fixed(R::from_constant(k))
    }

    #[inline(always)]
    fn to_f64(self, lane: usize) -> f64 {
        self.value.to_f64(lane)
    }

    #[inline(always)]
    fn to_force(self) -> Dual<R::Force> {
        Dual {
            value: self.value.to_force(),
            derivative: self.derivative.to_force(),
        }
    }

    #[inline(always)]
    fn add_pulls(self, factors: [Self::Force; 2], vectors: [Self::Force; 2]) -> Self {
        let ([a, b], [x, y]) = (factors, vectors);
        Self {
            value: self.value.add_pulls([a.value, b.value], [x.value, y.value]),
            derivative: self
                .derivative
                .add_pulls([a.derivative, b.derivative], [x.value, y.value])
                .add_pulls([a.value, b.value], [x.derivative, y.derivative]),
        }
    }

    #[inline(always)]
    fn now(self) -> Self {
        Self {
            value: self.value.now(),
            derivative: self.derivative.now(),
        }
    }

    #[inline(always)]
    fn scaled(self, k: R::Constant) -> Self {
        Self {
            value: self.value.scaled(k),
            derivative: self.derivative.scaled(k),
        }
    }

    #[inline(always)]
    fn plus_scaled(self, k: R::Constant, x: Self) -> Self {
        Self {
            value: self.value.plus_scaled(k, x.value),
            derivative: self.derivative.plus_scaled(k, x.derivative),
        }
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self {
            value: self.value.mul_add(a.value, b.value),
            derivative: self
                .value
                .mul_add(a.derivative, self.derivative.mul_add(a.value, b.derivative)),
        }
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> R::Mask {
        self.value.at_most(other.value)
    }

    #[inline(always)]
    fn select(mask: R::Mask, yes: Self, no: Self) -> Self {
        Self {
            value: R::select(mask, yes.value, no.value),
            derivative: R::select(mask, yes.derivative, no.derivative),
        }
    }

    #[inline(always)]
    fn inv_cube(self) -> Self {
        Self::inv_cubes([self])[0]
    }

    #[inline(always)]
    fn inv_cubes<const K: usize>(r2: [Self; K]) -> [Self; K] {
        with_derivatives(r2, R::inv_cubes(values(r2)))
    }

    const STEP_ROOT: f64 = R::STEP_ROOT;

    /// The derivative of s^(-1/2) is -1/2 s^(-3/2) s′.
    #[inline(always)]
    fn step_root(self) -> Self {
        let y = self.value.step_root();
        let rate = (y * (y * y)).scaled(R::constant(-0.5 / (R::STEP_ROOT * R::STEP_ROOT)));
        Self {
            value: y,
            derivative: rate * self.derivative,
        }
    }

    /// The derivative of q = h/x is (h′ - q x′)/x.
    #[inline(always)]
    fn step_quotient(self, h: Self) -> Self {
        let q = self.value.step_quotient(h.value);
        let rate = (-q).mul_add(self.derivative, h.derivative);
        Self {
            value: q,
            derivative: self.value.step_quotient(rate),
        }
    }

    #[inline(always)]
    fn inv_cube_or_zero(self) -> Self {
        Self::inv_cubes_or_zero([self])[0]
    }

    #[inline(always)]
    fn inv_cubes_or_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
        with_derivatives(r2, R::inv_cubes_or_zero(values(r2)))
    }
}
