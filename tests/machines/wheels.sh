#!/usr/bin/env bash
# Installs the wheel for aarch64 with Debian's Python and uses it under an emulator of the processor: its files must have the bytes of the files
# of this machine's wheel.
#
# usage: tests/machines/wheels.sh NATIVE [WHEEL...]
# NATIVE is the wheel of this machine, built from the same sources. Without a WHEEL, it is built here, without much
# optimisation; CUDA_BUILDER_RUST_SRC and TRISOLAR_MACHINES_TARGET are as in the other scripts of this folder, and maturin is that of
# python/ci.sh. What is downloaded stays in .ci-cache.
set -euo pipefail
[ $# -ge 1 ] && [ -f "$1" ] || { echo "usage: $0 NATIVE [WHEEL...], which are wheels" >&2; exit 2; }
native=$(realpath "$1")
wheels=()
for wheel in "${@:2}"; do wheels+=("$(realpath "$wheel")"); done
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cache=$PWD/.ci-cache
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ ${#wheels[@]} = 0 ]; then
    : "${CUDA_BUILDER_RUST_SRC:?names the folder library of the sources of rustc}"
    (
        . tests/machines/build_std.sh
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
        cd python
        "$cache/python/venv/bin/maturin" build --profile dev --locked --quiet -Zbuild-std=std,panic_unwind --target aarch64-unknown-linux-gnu \
            --out "$work/wheels"
    )
    wheels=("$work"/wheels/*.whl)
fi

# Writes the files that are compared.
cat >"$work/use.py" <<'PYTHON'
import pathlib, sys
import numpy, trisolar

out = pathlib.Path(sys.argv[1])
out.mkdir()
map = trisolar.divergence(size=(12, 8), steps=1500, backend="cpu")
map.save(str(out / "map.npz"))
map.save(str(out / "map.png"))
assert map.steps_together.shape == (8, 12) and map.steps_together.dtype == numpy.uint32
trisolar.divergence(size=6, steps=300, quantity="ftle", integrator="leapfrog", backend="cpu").save(str(out / "ftle.npy"))
*_, nbody = trisolar.nbody(n=60, steps=10, dt=0.01, backend="cpu")
numpy.save(out / "nbody.npy", nbody.position)
*_, cluster = trisolar.cluster(n=40, end=0.125, backend="cpu")
numpy.save(out / "cluster.npy", cluster.position)
trisolar.encounters(n=4, backend="cpu").save(str(out / "encounters.npz"))
print(f"trisolar {trisolar.__version__} with NumPy {numpy.__version__} on {sys.implementation.name} {sys.version.split()[0]}")
PYTHON
python3 -m pip install -q --target "$work/native" "$native" numpy
PYTHONPATH=$work/native python3 "$work/use.py" "$work/files-native"

# Debian's Python for arm64, of this machine's release of Debian, unpacked privately.
aarch64_python() {
    arm64=$cache/python-arm64
    [ ! -x "$arm64/usr/bin/python3" ] || return 0
    local apt=$work/apt options
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$work/arm64"
    : >"$apt/status"
    options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State::status=$apt/status" -o "Dir::State::lists=$apt/lists"
        -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root -o Debug::NoLocking=1)
    apt-get "${options[@]}" update
    apt-get "${options[@]}" --assume-yes --no-install-recommends --download-only install python3-minimal libpython3-stdlib libstdc++6
    for package in "$apt"/cache/archives/*.deb; do dpkg --fsys-tarfile "$package" | tar -xf - -C "$work/arm64"; done
    mv "$work/arm64" "$arm64"
}

use_aarch64() {
    local arm64 emulated version platforms=(--platform linux_aarch64) minor
    aarch64_python
    emulated=(qemu-aarch64 -L "$arm64" -E "PYTHONHOME=$arm64/usr" -E "PYTHONPATH=$work/aarch64" "$arm64/usr/bin/python3")
    read -r version minor <<<"$("${emulated[@]}" -c 'import os, sys; print("%d.%d" % sys.version_info[:2], os.confstr("CS_GNU_LIBC_VERSION").split(".")[1])')"
    # What Debian's C library allows, newest first.
    for minor in $(seq "$minor" -1 17); do platforms+=(--platform "manylinux_2_${minor}_aarch64"); done
    platforms+=(--platform manylinux2014_aarch64)
    python3 -m pip install -q --target "$work/aarch64" --only-binary=:all: --python-version "$version" --implementation cp \
        --abi "cp${version/./}" --abi abi3 "${platforms[@]}" "$1" numpy
    "${emulated[@]}" "$work/use.py" "$work/files-aarch64"
    diff -r "$work/files-native" "$work/files-aarch64" || { echo "the files of $1 differ from those of this machine's wheel" >&2; exit 1; }
    echo "same bytes: $(cd "$work/files-native" && echo *)"
}

for wheel in "${wheels[@]}"; do
    case $wheel in
    *aarch64.whl) use_aarch64 "$wheel" ;;
    *) echo "$wheel is not for aarch64" >&2; exit 2 ;;
    esac
done
