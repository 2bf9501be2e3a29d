fn main() {
    cuda_builder::CudaBuilder::module("src/kernels.rs").embed();
}
