//! Data that host and device share has the same layout on both.

mod common;
#[path = "../../trisolar_cuda_std/tests/kernels/layouts/src/values.rs"]
#[macro_use]
mod values;

use common::{builder, kernels, text_of};
use cuda_std::glam::*;
use values::*;

/// The bytes of an initialised static in PTX.
fn bytes(ptx: &str, name: &str) -> Vec<u8> {
    let (_, declaration) = ptx.split_once(&format!(".b8 {name}[")).expect(name);
    let (length, rest) = declaration.split_once("] = {").expect(name);
    let (list, _) = rest.split_once('}').expect(name);
    let mut bytes: Vec<u8> = list.split(", ").map(|byte| byte.parse().unwrap()).collect();
    // PTX omits trailing zeros.
    bytes.resize(length.parse().unwrap(), 0);
    bytes
}

#[test]
fn types_of_glam_and_structures_of_them_are_the_same_on_both_sides() {
    let Some(ptx) = text_of(builder(kernels("layouts"))) else {
        return;
    };
    let layouts = bytes(&ptx, "layouts");
    let mut layouts = layouts
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word) as usize);
    macro_rules! compare {
        ($($name:ident: $type:ty = $value:expr;)*) => {$(
            let name = stringify!($type);
            assert_eq!(layouts.next(), Some(size_of::<$type>()), "size of {name}");
            assert_eq!(layouts.next(), Some(align_of::<$type>()), "alignment of {name}");
            let found = bytes(&ptx, stringify!($name));
            assert_eq!(found.len(), size_of::<$type>(), "{name}");
            // SAFETY: the static has as many bytes as the type, and rustc made them from a value of that type for the device.
            let found = unsafe { found.as_ptr().cast::<$type>().read_unaligned() };
            assert_eq!(found, $value, "{name}");
        )*};
    }
    values!(compare);
    assert_eq!(layouts.next(), None);
}

#[test]
fn vectors_have_the_alignments_of_cuda() {
    // https://docs.nvidia.com/cuda/cuda-c-programming-guide, table of the built-in vector types.
    assert_eq!(align_of::<Vec2>(), 8);
    assert_eq!(align_of::<Vec3>(), 4);
    assert_eq!(align_of::<Vec4>(), 16);
    assert_eq!(align_of::<DVec2>(), 16);
    assert_eq!(align_of::<DVec3>(), 8);
    assert_eq!(align_of::<DVec4>(), 16);
    assert_eq!((align_of::<IVec2>(), align_of::<UVec4>()), (8, 16));
    assert_eq!((align_of::<U8Vec4>(), align_of::<I16Vec2>()), (4, 4));
}

/// cust uses an older glam than the kernels; the types that it may copy to the device must have the same layout in both.
#[test]
fn types_that_cust_copies_have_the_layout_that_kernels_expect() {
    fn copied<T: cust_core::DeviceCopy>(value: T) -> (T, usize, usize) {
        (value, size_of::<T>(), align_of::<T>())
    }
    macro_rules! compare {
        ($($name:ident($($x:literal),*))*) => {$(
            let (theirs, size, align) = copied(glam_of_cust::$name::new($($x),*));
            assert_eq!((size, align), (size_of::<$name>(), align_of::<$name>()), stringify!($name));
            // SAFETY: the sizes are equal, and every bit pattern is a valid value.
            let ours: $name = unsafe { std::mem::transmute_copy(&theirs) };
            assert_eq!(ours, $name::new($($x),*));
        )*};
    }
    compare! {
        Vec2(1.5, 2.5) Vec3(1.5, 2.5, 3.5) Vec4(1.5, 2.5, 3.5, 4.5)
        IVec2(-1, 2) IVec3(-1, 2, -3) IVec4(-1, 2, -3, 4)
    }
}
