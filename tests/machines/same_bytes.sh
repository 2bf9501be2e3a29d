#!/usr/bin/env bash
# Runs maps, N-body, clusters and encounters with two programs and compares their files byte for byte. An interrupted run of the second program
# is resumed by both. Pixels of the golden map are also compared.
#
# usage: tests/machines/same_bytes.sh [--small] PROGRAM OTHER...
# PROGRAM is a trisolar of this machine, OTHER the command of another one, such as `qemu-aarch64 -L ROOT FILE`; both with absolute paths.
# --small leaves out the interrupted run and all runs but a few, which have every engine.
set -euo pipefail
small=no
[ "${1:-}" != --small ] || { small=yes; shift; }
[ $# -ge 2 ] || { echo "usage: $0 [--small] PROGRAM OTHER..." >&2; exit 2; }
native=$1
shift
other=("$@")

golden=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/../golden/divergence_300x300_50000.npy

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/native" "$work/other"

# Options of a run and the files that it must have written, separated by a bar.
runs=(
    "divergence --size 8 --steps 400 --out small.npz --out small.png | small.npz small.png"
    "divergence --size 8 --steps 400 --precision f32 --out f32.npy | f32.npy"
    "nbody --n 100 --steps 3 --dt 0.01 --every 1 --out few.csv --series few-series.csv --trajectory few-path.npz --checkpoint few.npz | few.csv few-series.csv few-path.npz few.npz"
    "nbody --n 200 --steps 5 --dt 0.01 --precision f32 --solver basic --out nbody-f32.txt | nbody-f32.txt"
    "cluster --n 100 --end 0.125 --order 4 --softening 0.01 --out cluster-4.csv | cluster-4.csv"
    "cluster --n 64 --end 0.125 --scheme ahmad-cohen --out ahmad-cohen.csv | ahmad-cohen.csv"
    "encounters --n 6 --out encounters.npz --out encounters.csv | encounters.npz encounters.csv"
)
if [ $small = no ]; then
    runs+=(
        "divergence --size 24 --steps 1500 --save-config map.toml --out map.npy --out map.png --out map.tif --out map.npz | map.npz map.npy map.png map.tif map.toml"
        "divergence --size 8 --steps 400 --precision float-float --out float-float.npy | float-float.npy"
        "divergence --size 8 --steps 400 --quantity ftle --integrator leapfrog --stream --out ftle.npy | ftle.npy"
        "zoom --out zoom --npy --frames 2 --size 5 --set steps=50 | zoom/frame-00001.npy"
        "sweep --out sweep --vary mass2=1:2:2 --size 5 --steps 50 | sweep/frame-00001.npy"
        "nbody --n 200 --steps 20 --dt 0.01 --every 5 --out nbody.csv --series series.csv --trajectory path.npz --checkpoint nbody.npz --plots plots | nbody.csv series.csv path.npz nbody.npz plots/orbits.png"
        "nbody --n 200 --steps 5 --dt 0.01 --dimensions 2 --integrator leapfrog --precision f32 --out nbody-f32.csv | nbody-f32.csv"
        "nbody --n 200 --steps 5 --dt 0.01 --precision float-float --out nbody-float-float.npz | nbody-float-float.npz"
        "cluster --n 100 --end 0.25 --out cluster.csv --checkpoint cluster.npz | cluster.csv cluster.npz"
        "encounters --map phase,inclination --size 3 --max-steps 3000 --out outcomes.png | outcomes.png"
    )
fi

# in_folder FOLDER COMMAND... runs a command there and shows its output if it fails.
in_folder() {
    local folder=$1
    shift
    if ! (cd "$folder" && "$@") >"$work/said" 2>&1; then
        cat "$work/said" >&2
        echo "failed: $*" >&2
        return 1
    fi
}

for run in "${runs[@]}"; do
    read -ra options <<<"${run%%|*}"
    for side in native other; do
        if [ $side = native ]; then command=("$native"); else command=("${other[@]}"); fi
        # nbody, cluster, zoom and the others all take --backend, so that a GPU of this machine changes nothing.
        in_folder "$work/$side" "${command[@]}" "${options[@]}" --backend cpu
        for file in ${run#*|}; do
            [ -s "$work/$side/$file" ] || { echo "${options[*]}: $file was not written" >&2; exit 1; }
        done
    done
    diff -r "$work/native" "$work/other" || { echo "the files differ: ${options[*]}" >&2; exit 1; }
    echo "same bytes: ${options[*]}"
done

# Pixels of the golden map: the headline map of 10 × 10 pixels has every thirtieth of its rows and columns.
size=10
[ $small = no ] || size=3
in_folder "$work/other" "${other[@]}" divergence --size $size --out headline.npy --backend cpu
python3 - "$golden" "$work/other/headline.npy" $size <<'PYTHON'
import array, sys

def values(path):
    data = open(path, "rb").read()
    numbers = array.array("I")
    numbers.frombytes(data[10 + int.from_bytes(data[8:10], "little"):])
    return numbers

golden, headline = map(values, sys.argv[1:3])
kept = range(0, 300, 300 // int(sys.argv[3]))
expected = [golden[300 * row + column] for row in kept for column in kept]
sys.exit(0 if list(headline) == expected else f"{sys.argv[2]} differs from the golden map")
PYTHON
echo "the pixels of the golden map"
[ $small = no ] || exit 0

# The other program is interrupted as soon as it has written a checkpoint, and must not be at its end by then. The same run, undisturbed and by
# the native program, is what both programs must come to.
long=(nbody --n 256 --steps 2000 --dt 0.001 --softening 0.01 --backend cpu --threads 2 --out long.csv --series long-series.csv --checkpoint long.npz)
mkdir "$work/undisturbed" "$work/interrupted"
in_folder "$work/undisturbed" "$native" "${long[@]}"
# A job of its own, since bash starts other commands in the background with SIGINT ignored.
set -m
(cd "$work/interrupted" && exec "${other[@]}" "${long[@]}") >"$work/said" 2>&1 &
running=$!
set +m
while [ ! -s "$work/interrupted/long.npz" ] && kill -0 $running 2>/dev/null; do sleep 0.05; done
kill -INT $running 2>/dev/null || true
code=0
wait $running || code=$?
if [ $code != 130 ]; then
    cat "$work/said" >&2
    echo "exit code $code instead of 130 after SIGINT" >&2
    exit 1
fi
for side in native other; do
    if [ $side = native ]; then command=("$native"); else command=("${other[@]}"); fi
    cp -r "$work/interrupted" "$work/resumed"
    in_folder "$work/resumed" "${command[@]}" nbody --resume long.npz
    diff -r "$work/undisturbed" "$work/resumed" || { echo "the files differ after --resume" >&2; exit 1; }
    rm -rf "$work/resumed"
    echo "same bytes after SIGINT and --resume by the $side program"
done
