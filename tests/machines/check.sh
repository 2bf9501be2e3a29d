#!/usr/bin/env bash
# Checks that the program compiles for macOS, and for Windows with Microsoft's tools, without a warning. Nothing is linked or run.
#
# usage: tests/machines/check.sh [TARGET...]
# Without targets, it checks Apple's processors, x86-64 with macOS, and x86-64 with Windows.
# build_std.sh says which variables of the environment are used.
set -euo pipefail
[ $# -gt 0 ] || set -- aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-msvc
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/machines/build_std.sh
# No machine code is made of the standard library either.
export RUSTFLAGS=-Zno-codegen
# The assembly that calls NVIDIA's driver is not needed on macOS: neither cust nor a library of CUDA may be among the dependencies.
for target; do
    if cargo tree --locked --target $target -e normal -p trisolar | grep -E '\b(cust|cust_raw|find_cuda_helper)\b'; then
        echo "cust, which needs a CUDA toolkit, is in the tree for $target" >&2
        exit 1
    fi
done
cargo check -Zbuild-std=std,panic_unwind --locked "${@/#/--target=}" -p trisolar --bin trisolar 2>&1 | tee "$work/said"
if grep -q '^warning' "$work/said"; then
    echo "there are warnings" >&2
    exit 1
fi
