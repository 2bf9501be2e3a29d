use cuda_std::emulator::Launch;
use cuda_std::prelude::*;
use cuda_std::RawSlice;

#[kernel]
pub unsafe fn fill(data: &mut [f32], value: f32) {
    data[0] = value;
}

fn main() {
    let data = [0.0_f32];
    let slice = RawSlice::new(data.as_ptr(), 1);
    unsafe { Launch::new(1, 1).run_kernel::<Fill>((slice, 1.0)) }.unwrap();
}
