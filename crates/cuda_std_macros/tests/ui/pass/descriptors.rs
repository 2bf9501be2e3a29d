//! The descriptors of kernels: clashes with other items of the same name, generic kernels, and the conversion of arguments.
#![deny(warnings)]

use cuda_std::emulator::Launch;
use cuda_std::prelude::*;
use cuda_std::{Kernel, RawSlice, RawSliceMut};

/// The kernel is exported from a module of the same name, as is common.
mod scale {
    use cuda_std::prelude::*;

    #[kernel]
    pub unsafe fn scale(data: &mut [f32], by: &f32, add: &[f32], last: *mut f32) {
        let i = thread::index_1d() as usize;
        if i < data.len() {
            data[i] = data[i] * *by + add[i];
        }
        if i == 0 {
            unsafe { *last = *by };
        }
    }
}
pub use scale::{Scale, scale};

/// A type with the name of the kernel's descriptor takes precedence over it.
#[allow(dead_code)]
pub struct Count(pub u32);

#[kernel]
#[allow(clippy::missing_safety_doc)]
pub unsafe fn count(to: *mut u32) {
    unsafe { *to += 1 };
}

pub trait Number: Copy + 'static {
    type Wide: Copy;
    fn wide(self) -> Self::Wide;
}

impl Number for u32 {
    type Wide = u64;
    fn wide(self) -> u64 {
        self.into()
    }
}

impl Number for f32 {
    type Wide = f64;
    fn wide(self) -> f64 {
        self.into()
    }
}

/// Two generic parameters, and an associated type.
#[kernel(block_dim = 1d, instances(u32_2: <u32, 2>, f32_3: <f32, 3>, 4_f32: <f32, 4>))]
#[allow(clippy::missing_safety_doc)]
pub unsafe fn widen<'a, T: Number, const N: usize>(
    from: &'a [T],
    to: *mut <T as Number>::Wide,
    times: [u32; N],
) where
    T::Wide: 'static,
{
    for (i, _) in times.iter().enumerate() {
        unsafe { *to.add(i) = from[i].wide() };
    }
}

fn main() {
    let (mut data, add, by, mut last) = ([1.0, 2.0], [0.5, 0.25], 3.0, 0.0);
    let arguments = (
        RawSliceMut::new(data.as_mut_ptr(), 2),
        &raw const by,
        RawSlice::new(add.as_ptr(), 2),
        &raw mut last,
    );
    let mut sizes = 0;
    Scale::each(&arguments, &mut |_| sizes += 1);
    assert_eq!((Scale::name(), sizes), (Some("scale"), 6));
    unsafe { Launch::new(1, 32).run_kernel::<Scale>(arguments) }.unwrap();
    assert_eq!((data, last), ([3.5, 6.25], 3.0));

    assert_eq!(Widen::<u32, 2>::name(), Some("widen_u32_2"));
    assert_eq!(Widen::<f32, 4>::name(), Some("widen_4_f32"));
    assert_eq!(Widen::<f32, 2>::name(), None);
    let (from, mut to) = ([1, 2], [0_u64; 2]);
    let arguments = (RawSlice::new(from.as_ptr(), 2), to.as_mut_ptr(), [0; 2]);
    unsafe { Launch::new(1, 1).run_kernel::<Widen<u32, 2>>(arguments) }.unwrap();
    assert_eq!(to, [1, 2]);
    let _ = (Count(1), count, scale, widen::<u32, 2>);
}
