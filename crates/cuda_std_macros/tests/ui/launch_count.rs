use cuda_std::emulator::Launch;
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn fill(data: *mut f32, value: f32) {
    unsafe { *data = value };
}

fn main() {
    let mut data = [0.0_f32];
    unsafe { Launch::new(1, 1).run_kernel::<Fill>((data.as_mut_ptr(),)) }.unwrap();
}
