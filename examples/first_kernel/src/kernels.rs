use cuda_std::prelude::*;

/// Multiplies every number by `by`.
#[kernel]
pub fn scale(by: f32, data: Each<'_, f32>) {
    for x in data {
        *x *= by;
    }
}
