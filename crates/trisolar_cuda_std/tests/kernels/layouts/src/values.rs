//! A value of every glam type, and of structures of them, for both the device and the host.

use cuda_std::glam::*;

/// A structure that both sides share.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Body {
    pub kind: u8,
    pub place: Vec3,
    pub corner: Vec2,
    pub alive: bool,
    pub colour: Vec4,
    pub cell: IVec2,
    pub turn: Quat,
    pub mass: f32,
    pub drift: DVec2,
    pub span: UVec4,
    pub spin: DVec4,
    pub id: u16,
}

/// A structure that contains a structure, a matrix and an array.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Scene {
    pub count: u32,
    pub bodies: [Body; 2],
    pub view: Affine2,
    pub flags: BVec3,
    pub corners: [I16Vec2; 3],
    pub last: u8,
}

/// An example value.
pub const BODY: Body = Body {
    kind: 3,
    place: Vec3::new(1.5, 2.5, 3.5),
    corner: Vec2::new(4.5, 5.5),
    alive: true,
    colour: Vec4::new(6.5, 7.5, 8.5, 9.5),
    cell: IVec2::new(-10, 11),
    turn: Quat::from_xyzw(12.5, 13.5, 14.5, 15.5),
    mass: 16.5,
    drift: DVec2::new(17.5, 18.5),
    span: UVec4::new(19, 20, 21, 22),
    spin: DVec4::new(23.5, 24.5, 25.5, 26.5),
    id: 27,
};

/// Passes the names, types and values to a macro.
#[macro_export]
macro_rules! values {
    ($use:ident) => {
        $use! {
            vec2: Vec2 = Vec2::new(1.5, 2.5);
            vec3: Vec3 = Vec3::new(1.5, 2.5, 3.5);
            vec3a: Vec3A = Vec3A::new(1.5, 2.5, 3.5);
            vec4: Vec4 = Vec4::new(1.5, 2.5, 3.5, 4.5);
            quat: Quat = Quat::from_xyzw(1.5, 2.5, 3.5, 4.5);
            mat2: Mat2 = Mat2::from_cols(Vec2::new(1.5, 2.5), Vec2::new(3.5, 4.5));
            mat3: Mat3 = Mat3::from_cols_array(&[1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]);
            mat3a: Mat3A = Mat3A::from_cols(Vec3A::new(1.5, 2.5, 3.5), Vec3A::new(4.5, 5.5, 6.5), Vec3A::new(7.5, 8.5, 9.5));
            mat4: Mat4 = Mat4::from_cols(
                Vec4::new(1.5, 2.5, 3.5, 4.5), Vec4::new(5.5, 6.5, 7.5, 8.5),
                Vec4::new(9.5, 10.5, 11.5, 12.5), Vec4::new(13.5, 14.5, 15.5, 16.5),
            );
            affine2: Affine2 = Affine2::from_cols(Vec2::new(1.5, 2.5), Vec2::new(3.5, 4.5), Vec2::new(5.5, 6.5));
            affine3a: Affine3A = Affine3A::from_cols(
                Vec3A::new(1.5, 2.5, 3.5), Vec3A::new(4.5, 5.5, 6.5), Vec3A::new(7.5, 8.5, 9.5), Vec3A::new(10.5, 11.5, 12.5),
            );
            dvec2: DVec2 = DVec2::new(1.5, 2.5);
            dvec3: DVec3 = DVec3::new(1.5, 2.5, 3.5);
            dvec4: DVec4 = DVec4::new(1.5, 2.5, 3.5, 4.5);
            dquat: DQuat = DQuat::from_xyzw(1.5, 2.5, 3.5, 4.5);
            dmat2: DMat2 = DMat2::from_cols_array(&[1.5, 2.5, 3.5, 4.5]);
            dmat3: DMat3 = DMat3::from_cols_array(&[1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]);
            dmat4: DMat4 = DMat4::from_cols(
                DVec4::new(1.5, 2.5, 3.5, 4.5), DVec4::new(5.5, 6.5, 7.5, 8.5),
                DVec4::new(9.5, 10.5, 11.5, 12.5), DVec4::new(13.5, 14.5, 15.5, 16.5),
            );
            daffine2: DAffine2 = DAffine2::from_cols(DVec2::new(1.5, 2.5), DVec2::new(3.5, 4.5), DVec2::new(5.5, 6.5));
            daffine3: DAffine3 = DAffine3::from_cols(
                DVec3::new(1.5, 2.5, 3.5), DVec3::new(4.5, 5.5, 6.5), DVec3::new(7.5, 8.5, 9.5), DVec3::new(10.5, 11.5, 12.5),
            );
            i8vec2: I8Vec2 = I8Vec2::new(-1, 2);
            i8vec3: I8Vec3 = I8Vec3::new(-1, 2, -3);
            i8vec4: I8Vec4 = I8Vec4::new(-1, 2, -3, 4);
            u8vec2: U8Vec2 = U8Vec2::new(1, 2);
            u8vec3: U8Vec3 = U8Vec3::new(1, 2, 3);
            u8vec4: U8Vec4 = U8Vec4::new(1, 2, 3, 4);
            i16vec2: I16Vec2 = I16Vec2::new(-1, 2);
            i16vec3: I16Vec3 = I16Vec3::new(-1, 2, -3);
            i16vec4: I16Vec4 = I16Vec4::new(-1, 2, -3, 4);
            u16vec2: U16Vec2 = U16Vec2::new(1, 2);
            u16vec3: U16Vec3 = U16Vec3::new(1, 2, 3);
            u16vec4: U16Vec4 = U16Vec4::new(1, 2, 3, 4);
            ivec2: IVec2 = IVec2::new(-1, 2);
            ivec3: IVec3 = IVec3::new(-1, 2, -3);
            ivec4: IVec4 = IVec4::new(-1, 2, -3, 4);
            uvec2: UVec2 = UVec2::new(1, 2);
            uvec3: UVec3 = UVec3::new(1, 2, 3);
            uvec4: UVec4 = UVec4::new(1, 2, 3, 4);
            i64vec2: I64Vec2 = I64Vec2::new(-1, 2);
            i64vec3: I64Vec3 = I64Vec3::new(-1, 2, -3);
            i64vec4: I64Vec4 = I64Vec4::new(-1, 2, -3, 4);
            u64vec2: U64Vec2 = U64Vec2::new(1, 2);
            u64vec3: U64Vec3 = U64Vec3::new(1, 2, 3);
            u64vec4: U64Vec4 = U64Vec4::new(1, 2, 3, 4);
            usizevec2: USizeVec2 = USizeVec2::new(1, 2);
            usizevec3: USizeVec3 = USizeVec3::new(1, 2, 3);
            usizevec4: USizeVec4 = USizeVec4::new(1, 2, 3, 4);
            bvec2: BVec2 = BVec2::new(true, false);
            bvec3: BVec3 = BVec3::new(true, false, true);
            bvec4: BVec4 = BVec4::new(true, false, true, true);
            bvec3a: BVec3A = BVec3A::new(true, false, true);
            bvec4a: BVec4A = BVec4A::new(true, false, true, true);
            body: Body = BODY;
            scene: Scene = Scene {
                count: 28,
                bodies: [BODY, Body { kind: 29, ..BODY }],
                view: Affine2::from_cols(Vec2::new(1.5, 2.5), Vec2::new(3.5, 4.5), Vec2::new(5.5, 6.5)),
                flags: BVec3::new(false, true, true),
                corners: [I16Vec2::new(-30, 31), I16Vec2::new(32, -33), I16Vec2::new(34, 35)],
                last: 36,
            };
        }
    };
}
