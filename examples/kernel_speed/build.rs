//! Builds the kernels to PTX with the stock toolchain, for compute capability 9.0 and later, whose matrix instructions they use.

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    // As nvcc does by default.
    CudaBuilder::new("kernels")
        .arch(NvvmArch::Compute90)
        .fma_contraction(true)
        .embed();
}
