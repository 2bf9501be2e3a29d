//! Builds the kernels to PTX with the stock toolchain.

fn main() {
    cuda_builder::CudaBuilder::new("kernels").embed();
}
