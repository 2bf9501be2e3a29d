use cuda_std::prelude::*;

#[kernel(max_threads = 2048)]
pub unsafe fn too_many(data: *mut f32) {
    let _ = data;
}

#[kernel(max_threads = many)]
pub unsafe fn no_number(data: *mut f32) {
    let _ = data;
}

#[kernel(min_blocks = 2)]
pub unsafe fn blocks_alone(data: *mut f32) {
    let _ = data;
}

#[kernel(max_threads = 64, max_threads = 64)]
pub unsafe fn twice(data: *mut f32) {
    let _ = data;
}

#[kernel(max_threads = 64, min_blocks = 2, max_registers = 64)]
pub unsafe fn both(data: *mut f32) {
    let _ = data;
}

#[kernel(max_registers = 0)]
pub unsafe fn none(data: *mut f32) {
    let _ = data;
}

#[kernel(cluster = (4, 4))]
pub unsafe fn large_cluster(data: *mut f32) {
    let _ = data;
}

fn main() {}
