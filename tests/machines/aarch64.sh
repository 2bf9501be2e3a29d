#!/usr/bin/env bash
# Checks the program for aarch64 Linux, and runs the tests of the lanes (NEON) and of the driver's entry points under an emulator of the
# processor.
#
# usage: tests/machines/aarch64.sh
# CUDA_BUILDER_RUST_SRC names the folder `library` of rustc's sources, from which the standard library for aarch64 is compiled. What is built is
# removed, unless TRISOLAR_MACHINES_TARGET names a folder for it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
: "${CUDA_BUILDER_RUST_SRC:?names the folder library of the sources of rustc}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

missing=()
command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu)
[ -e /usr/aarch64-linux-gnu/lib/crt1.o ] || missing+=(libc6-dev-arm64-cross)
command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
if [ ${#missing[@]} -gt 0 ]; then
    root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update
    "${root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"
fi

# rustup's toolchain has the standard library of this machine only; cargo compiles that of the target from its sources, which needs the
# variables that the developers of rustc and cargo use.
export RUSTC_BOOTSTRAP=1 __CARGO_TESTS_ONLY_SRC_ROOT=$CUDA_BUILDER_RUST_SRC
export CARGO_TARGET_DIR=${TRISOLAR_MACHINES_TARGET:-$work/target}
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
# The kernels for GPUs do not depend on the CPU.
unset TRISOLAR_BUILD_KERNELS
target=(-Zbuild-std=std,panic_unwind --locked --target aarch64-unknown-linux-gnu)

cargo check "${target[@]}" -p trisolar --bin trisolar
cargo test "${target[@]}" --profile dev -p trisolar-simd --lib
cargo test "${target[@]}" --profile dev -p libcuda_lazy --test without_driver
