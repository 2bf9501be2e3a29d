//! Builds the kernels to PTX with the stock toolchain. Without what that needs, the program still builds and reports what is missing.

fn main() {
    cuda_builder::CudaBuilder::new("kernels").embed();
}
