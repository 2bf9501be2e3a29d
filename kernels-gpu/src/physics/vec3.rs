//! Vectors of three [`Real`] components. (glam's vectors support only `f32` and `f64`, but the physics is generic.)

use crate::Real;
use crate::number::{Numbers, per_lane, sums};

/// A vector in space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Vec3<R> {
    /// First component.
    pub x: R,
    /// Second component.
    pub y: R,
    /// Third component.
    pub z: R,
}

impl Vec3<f64> {
    /// The vector rounded to another type of number, in every lane.
    #[inline(always)]
    pub fn convert<R: Real>(&self) -> Vec3<R> {
        Vec3 {
            x: R::from_f64(self.x),
            y: R::from_f64(self.y),
            z: R::from_f64(self.z),
        }
    }
}

impl<R: Real> Vec3<R> {
    /// All components 0.
    #[inline(always)]
    pub fn zero() -> Self {
        Self {
            x: R::zero(),
            y: R::zero(),
            z: R::zero(),
        }
    }

    /// x² + y² + z² + `plus`, computed by fused multiply-adds that start with `plus`. If `plus` is 0, the first one is an ordinary
    /// rounded product.
    #[inline(always)]
    pub fn norm2_plus(self, plus: R) -> R {
        self.norm2_plus_in::<3>(plus)
    }

    /// [`norm2_plus`](Self::norm2_plus) of the first `D` components, 2 or 3.
    #[inline(always)]
    pub fn norm2_plus_in<const D: usize>(self, plus: R) -> R {
        if D == 3 {
            plus.plus_squares([self.x, self.y, self.z])
        } else {
            plus.plus_squares([self.x, self.y])
        }
    }

    /// x·ox + y·oy + z·oz, by fused multiply-adds.
    #[inline(always)]
    pub fn dot(self, o: Self) -> R {
        self.z.mul_add(o.z, self.y.mul_add(o.y, self.x * o.x))
    }

    /// k · `self`.
    #[inline(always)]
    pub fn scaled(self, k: R) -> Self {
        Self {
            x: k * self.x,
            y: k * self.y,
            z: k * self.z,
        }
    }

    /// `self` + k · d, fused.
    #[inline(always)]
    pub fn add_scaled(self, k: R, d: Self) -> Self {
        self.add_scaled_in::<3>(k, d)
    }

    /// Does the same as [`add_scaled`](Self::add_scaled) for the first `D` components, 2 or 3; a third one does not change.
    #[inline(always)]
    pub fn add_scaled_in<const D: usize>(self, k: R, d: Self) -> Self {
        Self {
            x: k.mul_add(d.x, self.x),
            y: k.mul_add(d.y, self.y),
            z: if D == 3 {
                k.mul_add(d.z, self.z)
            } else {
                self.z
            },
        }
    }

    /// k · `self`, for a constant.
    #[inline(always)]
    pub fn scaled_by(self, k: R::Constant) -> Self {
        Self {
            x: self.x.scaled(k),
            y: self.y.scaled(k),
            z: self.z.scaled(k),
        }
    }

    /// `self` + k · d, for a constant, fused.
    #[inline(always)]
    pub fn plus_scaled(self, k: R::Constant, d: Self) -> Self {
        Self {
            x: self.x.plus_scaled(k, d.x),
            y: self.y.plus_scaled(k, d.y),
            z: self.z.plus_scaled(k, d.z),
        }
    }

    /// The vector in the numbers in which forces are computed.
    #[inline(always)]
    pub fn to_force(self) -> Vec3<R::Force> {
        Vec3 {
            x: self.x.to_force(),
            y: self.y.to_force(),
            z: self.z.to_force(),
        }
    }

    /// The vector itself; see [`Real::now`].
    #[inline(always)]
    pub fn now(self) -> Self {
        Self {
            x: self.x.now(),
            y: self.y.now(),
            z: self.z.now(),
        }
    }
}

per_lane!(Vec3<R> { x, y, z });
sums!(Vec3 { x, y, z });

impl<R> Numbers<R> for Vec3<R> {
    #[inline(always)]
    fn for_each(&mut self, f: &mut impl FnMut(&mut R)) {
        f(&mut self.x);
        f(&mut self.y);
        f(&mut self.z);
    }
}
