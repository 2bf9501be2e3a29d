use cuda_std::prelude::*;

#[kernel]
pub fn fill(data: *mut f32) {
    let _ = data;
}

#[kernel]
pub fn all(data: &mut [f32], one: &f32, raw: *const [f32]) {
    let _ = (data, one, raw);
}

#[kernel]
pub fn kept<'a>(data: Each<'static, f32>, others: &'a [f32]) {
    let _ = (data, others);
}

#[kernel]
pub fn host(x: (f32, f32), data: Each<'_, f32>) {
    let _ = (x, data);
}

fn main() {}
