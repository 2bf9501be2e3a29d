use cuda_std::emulator::Launch;
use cuda_std::prelude::*;

#[kernel]
pub fn scale(by: f32, x: Each<'_, f32>) {
    x.for_each(|x| *x *= by);
}

#[kernel]
pub unsafe fn fill(x: *mut f32) {
    unsafe { *x = 1.0 };
}

fn main() {
    let mut x = [1.0_f32, 2.0];
    let launch = Launch::new(1, 32);
    launch.run_safe::<Scale>((2.0, &x)).unwrap();
    launch.run_safe::<Fill>((x.as_mut_ptr(),)).unwrap();
}
