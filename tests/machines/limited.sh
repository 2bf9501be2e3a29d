#!/usr/bin/env bash
# Runs the program of this machine where something is missing or scarce: a home that can be written, /proc, all cores but one, memory, AVX2 and
# fused multiply-adds. Its files must have the bytes that they have otherwise.
#
# usage: tests/machines/limited.sh PROGRAM
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

missing=()
command -v qemu-x86_64 >/dev/null || missing+=(qemu-user)
command -v unshare >/dev/null || missing+=(util-linux)
install_missing "${missing[@]}"

group=
clean_up() { [ -z "$group" ] || rmdir "$group" 2>/dev/null || true; }
fail() { echo "$*" >&2; exit 1; }

# same COMMAND... compares the files that the program writes with and without the command before it.
same() { tests/machines/same_bytes.sh --small "$program" "$@" "$program" >"$work/said" || { cat "$work/said" >&2; fail "failed: $*"; }; }

# refused CODE PATTERN COMMAND... expects an exit code and a message.
refused() {
    local wanted=$1 pattern=$2 code=0
    shift 2
    (cd "$work" && "$@") >"$work/said" 2>&1 || code=$?
    [ $code = "$wanted" ] && grep -qE "$pattern" <(tr -s '\n ' ' ' <"$work/said") || { cat "$work/said" >&2; fail "exit code $code: $*"; }
}

unshare --map-root-user --mount true || fail "this system does not permit unshare, which the checks of the home and of /proc need"

# A home that is read-only even for root, and then none at all, which is also without the entry of the list of users.
mkdir "$work/home"
read_only=(unshare --map-root-user --mount sh -c "mount --bind '$work/home' '$work/home' && mount -o remount,bind,ro '$work/home' &&
    ! touch '$work/home/file' 2>/dev/null && HOME='$work/home' exec \"\$@\"" sh)
same "${read_only[@]}"
refused 2 '[Rr]ead-only' "${read_only[@]}" "$program" divergence --size 4 --steps 20 --backend cpu --out "$work/home/map.npy"
same env -u HOME -u USER -u LOGNAME -u TMPDIR
same env -i
echo "equal bytes with a home that is read-only, and without one"

no_proc=(unshare --map-root-user --mount sh -c 'mount -t tmpfs none /proc && [ -z "$(ls /proc)" ] && exec "$@"' sh)
same "${no_proc[@]}"
"${no_proc[@]}" "$program" devices >"$work/said"
grep -q '^memory ' "$work/said" || { cat "$work/said" >&2; fail "the memory is not known without /proc"; }
echo "equal bytes without /proc"

same taskset -c "$(taskset -pc $$ | grep -oE '[0-9]+' | tail -n 1)"
echo "equal bytes on one core"

# 1 GiB: a control group limits what is used; where none can be made, the limit of the process counts private memory that can be written.
limit=$((1 << 30))
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    file=memory.max
    [ $root = /sys/fs/cgroup ] || file=memory.limit_in_bytes
    own=$(grep -E "^[0-9]+:$([ $file = memory.max ] || echo memory):" /proc/self/cgroup | head -n 1 | cut -d: -f3-) || continue
    [ -d "$root$own" ] || own=/
    candidate=$root${own%/}/trisolar-$$
    mkdir "$candidate" 2>/dev/null || continue
    if echo $limit 2>/dev/null >"$candidate/$file" && (echo $BASHPID >"$candidate/cgroup.procs") 2>/dev/null; then
        group=$candidate
        break
    fi
    rmdir "$candidate"
done
if [ -n "$group" ]; then
    how="a control group ($file)"
    limited=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group")
else
    how="a limit of the process (RLIMIT_DATA), since no control group can be made here"
    limited=(prlimit --data=$limit)
fi
same "${limited[@]}"
memory=$("${limited[@]}" "$program" devices --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["cpu"]["memory_available_bytes"])')
[ "$memory" -gt 0 ] && [ "$memory" -le $limit ] || fail "$memory bytes of memory are said to be available"
# Rows that are written as they come, of a map that has 4 bytes a pixel; and runs that need more than there is.
(cd "$work" && "${limited[@]}" "$program" divergence --size 20000x500 --steps 1 --backend cpu --stream --out rows.npy >/dev/null 2>&1) ||
    fail "a map that is streamed does not fit"
refused 1 'out of memory: [0-9]+ bytes are needed' "${limited[@]}" "$program" divergence --size 20000 --steps 1 --backend cpu --out large.npy
refused 1 'out of memory: [0-9]+ bytes are needed' "${limited[@]}" "$program" encounters --n 1e8 --out large.npz
echo "equal bytes with 1 GiB of memory, by $how"

# The first Core i7 had SSE 4.2, but neither AVX2 nor fused multiply-adds.
old=(qemu-x86_64 -cpu Nehalem)
same "${old[@]}"
(cd "$work" && "${old[@]}" "$program" divergence --size 4 --steps 20 --backend cpu --out map.npy) >"$work/said" 2>&1
# With the long name of a processor, the summary breaks the line within these words.
tr -s ' \n' ' ' <"$work/said" | grep -q 'software fused multiply-add' || { cat "$work/said" >&2; fail "the summary does not say how it computes"; }
"${old[@]}" "$program" devices >"$work/said"
grep -qE '^simd +scalar, software fused' "$work/said" && grep -qE '^fma +no' "$work/said" || { cat "$work/said" >&2; fail "devices does not say it"; }
refused 2 'this machine does not have it; it can use: scalar' "${old[@]}" "$program" nbody --steps 1 --simd avx2
# Every command that computes warns at its start, unless it is to be quiet; with fused multiply-adds but no AVX2, too.
no_avx2=(qemu-x86_64 -cpu max,-avx2)
runs=(
    "divergence --size 4 --steps 20"
    "compare --size 4 --steps 20 --modes f64,f32"
    "zoom --out zoom --frames 1 --size 4 --set steps=20"
    "sweep --out sweep --vary mass2=1:2:2 --size 4 --steps 20"
    "nbody --n 4 --steps 1"
    "cluster --n 4 --end 0.125"
    "encounters --n 1"
    "encounters sweep --out encounters --map phase,inclination --vary mass3=1:2:2 --size 2 --max-steps 100"
)
for run in "${runs[@]}"; do
    read -ra options <<<"$run"
    for emulator in old no_avx2; do
        declare -n command=$emulator
        pattern='^warning: this CPU has no fused multiply-add instruction'
        [ $emulator = old ] || pattern='^warning: this CPU has none of the instruction sets for several numbers at a time'
        (cd "$work" && "${command[@]}" "$program" "${options[@]}" --backend cpu) >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "failed: $run"; }
        # Nothing but warnings may come before it.
        sed '/^warning/!q' "$work/said" | grep -q "$pattern" || { cat "$work/said" >&2; fail "no warning at the start: $run"; }
        rm -rf "$work"/{zoom,sweep,encounters}
    done
done
same "${no_avx2[@]}"
"${no_avx2[@]}" "$program" devices >"$work/said"
grep -qE '^simd +scalar \(1 lane\)' "$work/said" && grep -qE '^fma +yes' "$work/said" || { cat "$work/said" >&2; fail "devices does not say it"; }
echo "equal bytes without AVX2, with and without fused multiply-adds, and a warning at the start"
