//! Statics with a value of every glam type and of structures of them, whose bytes and alignments are visible in the PTX, and a
//! kernel that takes structures by value.
#![allow(improper_ctypes_definitions, unsafe_op_in_unsafe_fn, clippy::missing_safety_doc)]

mod values;

use cuda_std::glam::*;
use cuda_std::prelude::*;
pub use values::{Body, Scene};

macro_rules! statics {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        pub mod statics {
            use super::*;
            use values::*;
            $(
                #[unsafe(no_mangle)]
                #[allow(non_upper_case_globals)]
                pub static $name: $type = $value;
            )*
        }
        /// Size and alignment of each type, in the order of the list.
        #[unsafe(no_mangle)]
        pub static layouts: [[u32; 2]; [$(stringify!($name)),*].len()] =
            [$([size_of::<$type>() as u32, align_of::<$type>() as u32]),*];
    };
}

values!(statics);

/// Takes structures and vectors by value.
#[kernel]
pub unsafe fn by_value(scene: Scene, corner: Vec2, colour: Vec4, spin: DVec4, cell: IVec3, out: *mut f64) {
    let i = thread::index_1d() as usize;
    let body = scene.bodies[i % 2];
    *out.add(i) = f64::from(body.place.x + corner.y + colour.w + scene.view.translation.y)
        + body.spin.z * spin.z
        + f64::from(cell.z + i32::from(scene.corners[2].y) + i32::from(scene.last));
}
