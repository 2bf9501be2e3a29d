//! Builds the kernels to PTX. Another number or another seed of random kernels builds them again.

fn main() {
    for variable in ["TRIAL_KERNELS", "TRIAL_SEED"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    cuda_builder::CudaBuilder::new("kernels")
        .generate_line_info(true)
        .embed();
}
