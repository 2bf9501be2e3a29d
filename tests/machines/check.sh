#!/usr/bin/env bash
# Checks that the program compiles for macOS, and for Windows with Microsoft's tools, without a warning. Nothing is linked or run.
#
# usage: tests/machines/check.sh
# CUDA_BUILDER_RUST_SRC names the folder `library` of rustc's sources, from which the standard libraries are compiled. What is built is
# removed, unless TRISOLAR_MACHINES_TARGET names a folder for it.
set -euo pipefail
[ $# = 0 ] || { echo "usage: $0" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
: "${CUDA_BUILDER_RUST_SRC:?names the folder library of the sources of rustc}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/machines/build_std.sh
# No machine code is made of the standard library either.
export RUSTFLAGS=-Zno-codegen
# The assembly that calls NVIDIA's driver is not needed on macOS: neither cust nor a library of CUDA may be among the dependencies.
for target in aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-msvc; do
    if cargo tree --locked --target $target -e normal -p trisolar | grep -E '\b(cust|cust_raw|find_cuda_helper)\b'; then
        echo "cust, which needs a CUDA toolkit, is in the tree for $target" >&2
        exit 1
    fi
done
cargo check -Zbuild-std=std,panic_unwind --locked --target aarch64-apple-darwin --target x86_64-apple-darwin --target x86_64-pc-windows-msvc \
    -p trisolar --bin trisolar 2>&1 | tee "$work/said"
if grep -q '^warning' "$work/said"; then
    echo "there are warnings" >&2
    exit 1
fi
