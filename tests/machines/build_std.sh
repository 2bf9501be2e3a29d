# Sourced by the scripts of this folder: lets cargo compile for other machines, of which rustup's toolchain has no standard library. cargo
# compiles that from its sources, which needs the variables that the developers of rustc and cargo use.
# CUDA_BUILDER_RUST_SRC names the folder `library` of the sources. What is built is removed with $work, unless TRISOLAR_MACHINES_TARGET names a
# folder for it.
: "${CUDA_BUILDER_RUST_SRC:?names the folder library of the sources of rustc}"
export RUSTC_BOOTSTRAP=1 __CARGO_TESTS_ONLY_SRC_ROOT=$CUDA_BUILDER_RUST_SRC
export CARGO_TARGET_DIR=${TRISOLAR_MACHINES_TARGET:-$work/target}
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false
# The kernels for GPUs do not depend on the CPU.
unset TRISOLAR_BUILD_KERNELS
