//! Arguments by value and in slices: structures whose vectors lie at places of their own.

use cuda_std::glam::Vec4Swizzles;
use cuda_std::glam::{
    Affine2, BVec3, DVec2, DVec4, I16Vec2, IVec2, IVec4, Quat, UVec4, Vec2, Vec3, Vec3A, Vec4,
};
use cuda_std::prelude::*;

use crate::Out;

/// A structure that host and device share.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Body {
    /// Before a vector of 4 bytes' alignment.
    pub kind: u8,
    /// Three numbers without padding.
    pub place: Vec3,
    /// Of 8 bytes' alignment.
    pub corner: Vec2,
    /// Before one of 16 bytes' alignment.
    pub alive: bool,
    /// Of 16 bytes' alignment.
    pub colour: Vec4,
    /// Integers.
    pub cell: IVec2,
    /// Four numbers.
    pub turn: Quat,
    /// Of 16 bytes' alignment, of two numbers.
    pub drift: DVec2,
    /// Integers.
    pub span: UVec4,
    /// Of 16 bytes' alignment, of four numbers.
    pub spin: DVec4,
    /// Three numbers and padding.
    pub axis: Vec3A,
    /// A matrix and a vector.
    pub view: Affine2,
    /// Three bytes.
    pub flags: BVec3,
    /// An array.
    pub corners: [I16Vec2; 3],
    /// At the end, before padding.
    pub id: u16,
}

impl Body {
    /// One with different values in all places.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let x = seed as f32;
        Self {
            kind: seed as u8,
            place: Vec3::new(x, x + 0.25, x - 3.0),
            corner: Vec2::new(-x, 2.0 * x),
            alive: seed % 2 == 1,
            colour: Vec4::new(x + 1.0, x + 2.0, x + 3.0, x + 4.0),
            cell: IVec2::new(seed as i32, -7),
            turn: Quat::from_xyzw(0.5, x, -0.5, 1.0),
            drift: DVec2::new(1.0 / (1.0 + f64::from(x)), f64::from(x)),
            span: UVec4::new(1, 2, seed as u32, 4),
            spin: DVec4::new(0.125, f64::from(x), 3.5, -1.0),
            axis: Vec3A::new(9.0, x, 8.0),
            view: Affine2::from_cols(Vec2::new(x, 1.0), Vec2::new(2.0, 3.0), Vec2::new(4.0, x)),
            flags: BVec3::new(true, seed.is_multiple_of(3), false),
            corners: [
                I16Vec2::new(1, seed as i16),
                I16Vec2::new(3, 4),
                I16Vec2::new(-5, 6),
            ],
            id: 1000 + seed as u16,
        }
    }
}

/// Takes structures and vectors by value, and structures in a slice.
#[kernel]
pub unsafe fn by_value(
    body: Body,
    corner: Vec2,
    colour: Vec4,
    spin: DVec4,
    cell: IVec4,
    bodies: &[Body],
    out: *mut u64,
) {
    // SAFETY: the caller guarantees this.
    let mut out = unsafe { Out::new(out) };
    let t = thread::index_1d() as usize;
    for body in [body, bodies[t % bodies.len()]] {
        out.put(u64::from(body.kind) << 32 | u64::from(body.id));
        body.place
            .to_array()
            .into_iter()
            .for_each(|x| out.put_f32(x));
        body.corner
            .to_array()
            .into_iter()
            .for_each(|x| out.put_f32(x));
        body.colour
            .to_array()
            .into_iter()
            .for_each(|x| out.put_f32(x));
        body.turn
            .to_array()
            .into_iter()
            .for_each(|x| out.put_f32(x));
        body.axis
            .to_array()
            .into_iter()
            .for_each(|x| out.put_f32(x));
        body.view
            .to_cols_array()
            .into_iter()
            .for_each(|x| out.put_f32(x));
        body.drift
            .to_array()
            .into_iter()
            .for_each(|x| out.put_f64(x));
        body.spin
            .to_array()
            .into_iter()
            .for_each(|x| out.put_f64(x));
        body.span
            .to_array()
            .into_iter()
            .for_each(|x| out.put(x.into()));
        out.put(
            body.cell.x as u64
                ^ u64::from(body.alive) << 40
                ^ u64::from(body.flags.bitmask()) << 50,
        );
        let corners = body.corners.iter().flat_map(|corner| corner.to_array());
        out.put(corners.fold(0, |all, x| all << 10 ^ u64::from(x as u16)));
    }
    out.put_f32((corner * colour.xy()).dot(Vec2::new(1.0, 0.5)));
    out.put_f64(spin.element_sum() + f64::from(cell.w));
}
