use cuda_std::prelude::*;

type Masses<'a> = &'a [f64];

#[kernel]
pub unsafe fn sum(masses: Masses, out: *mut f64) {
    unsafe { *out = masses.iter().sum() };
}

fn main() {}
