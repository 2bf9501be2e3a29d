#!/usr/bin/env bash
# Builds the program as one static file, with musl, and runs it: its files must have the bytes of the files of the program of this machine. A
# static program cannot load NVIDIA's driver, and must say so.
#
# usage: tests/machines/musl.sh PROGRAM [STATIC]
# PROGRAM is the trisolar of this machine, built from the same sources, with glibc. STATIC is a static program that exists already, such as that of a
# release; without it, one is built here, and build_std.sh says which variables of the environment are used.
set -euo pipefail
static=
if [ $# = 2 ]; then
    static=$(realpath "$2")
    set -- "$1"
fi
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
fail() { cat "$work/said" >&2; echo "$*" >&2; exit 1; }

missing=()
[ -n "$static" ] || command -v musl-gcc >/dev/null || missing+=(musl-tools)
command -v qemu-x86_64 >/dev/null || missing+=(qemu-user)
install_missing "${missing[@]}"

if [ -z "$static" ]; then
    . tests/machines/build_std.sh
    # rustup's standard library for musl brings its own unwinder and start files. Here they are GCC's and Debian's.
    unwinder=$CARGO_TARGET_DIR/unwinder
    mkdir -p "$unwinder"
    musl-gcc -O1 -Wall -Werror -c tests/machines/musl_unwind.c -o "$unwinder/musl_unwind.o"
    cp "$(gcc -print-file-name=libgcc_eh.a)" "$unwinder/libunwind.a"
    ar r "$unwinder/libunwind.a" "$unwinder/musl_unwind.o" 2>/dev/null
    export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=musl-gcc
    # Debian's musl-gcc links static programs only for fixed addresses.
    export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-Clink-self-contained=no -Crelocation-model=static -L$(realpath "$unwinder")"

    cargo build -Zbuild-std=std,panic_unwind --locked --target x86_64-unknown-linux-musl -p trisolar --bin trisolar
    static=$(realpath "$CARGO_TARGET_DIR")/x86_64-unknown-linux-musl/debug/trisolar
fi
readelf -lW "$static" >"$work/said"
! grep -qE 'INTERP|DYNAMIC' "$work/said" || fail "the program is not static"

"$static" devices >"$work/said"
cat "$work/said"
why="a static program cannot load NVIDIA's driver (libcuda.so.1); the program for x86_64-unknown-linux-gnu can"
grep -qF "$why" <(tr -s '\n ' ' ' <"$work/said") || fail "devices does not say why there is no GPU"
code=0
(cd "$work" && "$static" divergence --size 4 --steps 20 --backend gpu --out map.npy) >"$work/said" 2>&1 || code=$?
[ $code = 1 ] && grep -qF "$why" <(tr -s '\n ' ' ' <"$work/said") || fail "exit code $code with --backend gpu"

tests/machines/same_bytes.sh "$program" "$static"
# musl's own fused multiply-adds.
tests/machines/same_bytes.sh --small "$program" qemu-x86_64 -cpu Nehalem "$static"
