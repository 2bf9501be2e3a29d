#!/usr/bin/env bash
# Builds the program for Windows on x86-64 and runs it under Wine: its files must have the bytes of the files of the program of this machine.
# Also runs the tests of what differs between operating systems, and of the driver's entry points with a driver that only answers.
#
# usage: tests/machines/windows.sh PROGRAM
# PROGRAM is the trisolar of this machine, built from the same sources.
# build_std.sh says which variables of the environment are used.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
clean_up() { wineserver -k 2>/dev/null || true; }

missing=()
command -v x86_64-w64-mingw32-gcc >/dev/null || missing+=(gcc-mingw-w64-x86-64-win32)
command -v wine >/dev/null || missing+=(wine wine64)
command -v script >/dev/null || missing+=(bsdutils)
install_missing "${missing[@]}"

. tests/machines/build_std.sh
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine
target=(-Zbuild-std=std,panic_unwind --locked --target x86_64-pc-windows-gnu)

# The crate of the wheel among them, so that wheels.sh finds its dependencies compiled.
cargo build "${target[@]}" -p trisolar -p trisolar-python
windows=(wine "$(realpath "$CARGO_TARGET_DIR")/x86_64-pc-windows-gnu/debug/trisolar.exe")

. tests/machines/wine.sh
devices=$("${windows[@]}" devices)
echo "$devices"
grep -q 'nvcuda.dll' <<<"$devices" || { echo "the program does not say that nvcuda.dll is missing" >&2; exit 1; }
grep -qE '^kernels +(built|prebuilt)' <<<"$devices" || { echo "the program has no kernels for GPUs" >&2; exit 1; }
tests/machines/same_bytes.sh "$program" "${windows[@]}"
selftest_quick "${windows[@]}"

# Names of Windows: spaces, other alphabets, paths longer than 260 characters, backslashes, the device NUL, a file that is read-only.
folder="$work/a folder/$(printf 'ü%.0s' {1..90})/星/$(printf 'long%.0s' {1..50})"
mkdir -p "$folder"
map=(divergence --size 4 --steps 20 --backend cpu)
expect() {
    local wanted=$1 code=0
    shift
    "$@" >"$work/said" 2>&1 || code=$?
    [ $code = "$wanted" ] || { cat "$work/said" >&2; echo "exit code $code instead of $wanted: $*" >&2; exit 1; }
}
(
    cd "$work"
    mkdir inner
    expect 0 "$program" "${map[@]}" --out native.npy
    expect 0 "${windows[@]}" "${map[@]}" --out "$folder/map of λ.npy" --out 'inner\back.npy' --save-config NUL
    expect 0 "${windows[@]}" "${map[@]}" --out "$folder/map of λ.npy"
    cmp native.npy "$folder/map of λ.npy"
    cmp native.npy inner/back.npy
    chmod a-w inner/back.npy
    expect 2 "${windows[@]}" "${map[@]}" --out 'inner\back.npy'
    grep -q 'read-only' "$work/said"
    # Input from a pipe, and of a folder.
    printf '1 0 0 0 0 0 0\n1 1 0 0 0 1 0\n' >bodies.txt
    expect 0 "$program" nbody --input bodies.txt --steps 3 --dt 0.01 --backend cpu --out native.csv
    expect 0 "${windows[@]}" nbody --input - --steps 3 --dt 0.01 --backend cpu --out piped.csv < <(cat bodies.txt)
    cmp native.csv piped.csv
    expect 2 "${windows[@]}" nbody --input inner --steps 3
    grep -q 'it is a directory' "$work/said"
    [ -z "$(find . -name '.trisolar-*')" ] || { echo "temporary files are left" >&2; exit 1; }
)
echo "names and kinds of files are as on this machine"

# A console, which Wine draws on a terminal: texts have its width, and colours unless the user or a pipe has none.
console() { script -qec "stty cols $1 rows 500; $(printf '%q ' "${@:2}")" /dev/null </dev/null; }
plain() { sed -e 's/\x1b\[[0-9;?]*[A-Za-z]//g' -e 's/\r//g' -e 's/ *$//' -e '/^Usage/d'; }
for columns in 60 90; do
    # Wine takes codes of colours for text, and breaks lines too early.
    console $columns env NO_COLOR=1 "$program" divergence -h | plain >"$work/help-$columns"
    console $columns env NO_COLOR=1 "${windows[@]}" divergence -h | plain >"$work/said"
    diff "$work/help-$columns" "$work/said" || { echo "the help has another width in a console of $columns columns" >&2; exit 1; }
done
! cmp -s "$work"/help-{60,90} || { echo "the help does not depend on the width" >&2; exit 1; }
red=$'\x1b\[31m'
wrong=("${windows[@]}" divergence --size x)
console 80 "${wrong[@]}" >"$work/said" || true
grep -q "$red" "$work/said" || { echo "no colours in a console" >&2; exit 1; }
console 80 env NO_COLOR=1 "${wrong[@]}" >"$work/said" || true
grep -q 'error:' <(plain <"$work/said") && ! grep -q "$red" "$work/said" || { echo "colours in spite of NO_COLOR" >&2; exit 1; }
expect 2 "${wrong[@]}"
! grep -q $'\x1b' "$work/said" || { echo "colours in a pipe" >&2; exit 1; }
echo "a console's width and colours"

# A second run finds the first one, which then ends by Ctrl-C (Wine makes it of the signal).
(
    cd "$work"
    long=(nbody --n 256 --steps 1000000 --dt 0.001 --softening 0.01 --backend cpu --threads 1 --checkpoint long.npz)
    # A job of its own, since bash starts other commands in the background with SIGINT ignored.
    set -m
    ("${windows[@]}" "${long[@]}") >said-first 2>&1 &
    first=$!
    set +m
    while [ ! -s long.npz ] && kill -0 $first 2>/dev/null; do sleep 0.1; done
    code=0
    expect 2 "${windows[@]}" "${long[@]}"
    grep -q 'is being written by another run (process ' <(tr -s '\n ' ' ' <said) || { cat said >&2; code=1; }
    kill -INT $first
    [ $code = 0 ] || exit 1
    wait $first || code=$?
    [ $code = 130 ] || { cat said-first >&2; echo "exit code $code instead of 130 after Ctrl-C" >&2; exit 1; }
    [ -z "$(find . -name '.trisolar-*')" ] || { echo "a lock is left" >&2; exit 1; }
)
echo "a second run is refused, and Ctrl-C ends the first one"

# A driver without GPUs.
x86_64-w64-mingw32-gcc -O1 -shared -o "$work/driver.dll" tests/machines/driver.c
TRISOLAR_LIBCUDA=$(winepath -w "$work/driver.dll") cargo test "${target[@]}" --profile dev -p libcuda_lazy --test windows
cargo test "${target[@]}" --profile dev -p trisolar-io --lib -- system atomic
