#!/usr/bin/env bash
# Builds the program for aarch64 Linux and runs it under an emulator of the processor: its files must have the bytes of the files of the program
# of this machine. Also runs the tests of the lanes (NEON) and of the driver's entry points.
#
# usage: tests/machines/aarch64.sh PROGRAM
# PROGRAM is the trisolar of this machine, built from the same sources.
# build_std.sh says which variables of the environment are used.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

missing=()
command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu)
[ -e /usr/aarch64-linux-gnu/lib/crt1.o ] || missing+=(libc6-dev-arm64-cross)
command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
install_missing "${missing[@]}"

. tests/machines/build_std.sh
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="${emulator[*]}"
target=(-Zbuild-std=std,panic_unwind --locked --target aarch64-unknown-linux-gnu)

# The crate of the wheel among them, so that wheels.sh finds its dependencies compiled.
cargo build "${target[@]}" -p trisolar -p trisolar-python
emulated=("${emulator[@]}" "$(realpath "$CARGO_TARGET_DIR")/aarch64-unknown-linux-gnu/debug/trisolar")
devices=$("${emulated[@]}" devices)
echo "$devices"
grep -q '^simd .*NEON' <<<"$devices" || { echo "the program does not find NEON" >&2; exit 1; }
tests/machines/same_bytes.sh "$program" "${emulated[@]}"
selftest_quick "${emulated[@]}"
cargo test "${target[@]}" --profile dev -p trisolar-simd --lib
cargo test "${target[@]}" --profile dev -p libcuda_lazy --test without_driver
