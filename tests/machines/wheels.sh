#!/usr/bin/env bash
# Installs the wheel for aarch64 with Debian's Python and uses it under an emulator of the processor: its files must have the bytes of the files
# of this machine's wheel. Of the wheel for Windows, for which neither Debian nor PyPI has a Python, it checks that pip accepts it there, that it
# uses nothing but Python's stable ABI and Windows, and that its library loads under Wine.
#
# usage: tests/machines/wheels.sh NATIVE [WHEEL...]
# NATIVE is the wheel of this machine, built from the same sources. Without a WHEEL, both are built here, without much
# optimisation, by the maturin of python/ci.sh; build_std.sh says which variables of the environment are used then. What is downloaded stays in
# .ci-cache.
set -euo pipefail
[ $# -ge 1 ] && [ -f "$1" ] || { echo "usage: $0 NATIVE [WHEEL...], which are wheels" >&2; exit 2; }
native=$(realpath "$1")
wheels=()
for wheel in "${@:2}"; do wheels+=("$(realpath "$wheel")"); done
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cache=$PWD/.ci-cache
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

. tests/machines/install.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ ${#wheels[@]} = 0 ]; then
    (
        . tests/machines/build_std.sh
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
        cd python
        for target in aarch64-unknown-linux-gnu x86_64-pc-windows-gnu; do
            "$cache/python/venv/bin/maturin" build --profile dev --locked --quiet --features program -Zbuild-std=std,panic_unwind \
                --target $target --out "$work/wheels"
        done
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
    python3 -m pip install -q --target "$work/native" "$native" numpy
    PYTHONPATH=$work/native python3 "$work/use.py" "$work/files-native"
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

use_windows() {
    local missing=() library name others
    command -v x86_64-w64-mingw32-gcc >/dev/null || missing+=(gcc-mingw-w64-x86-64-win32)
    command -v wine >/dev/null || missing+=(wine wine64)
    install_missing "${missing[@]}"
    [ -x "$cache/abi3/bin/abi3audit" ] || { python3 -m venv "$cache/abi3" && "$cache/abi3/bin/pip" install -q abi3audit; }
    "$cache/abi3/bin/abi3audit" --strict --verbose "$1"

    # As pip on Windows would, with what the wheel needs.
    python3 -m pip install -q --target "$work/windows" --only-binary=:all: --python-version 3.12 --implementation cp --abi cp312 --abi abi3 \
        --platform win_amd64 "$1" numpy
    library=$work/windows/trisolar/_trisolar.pyd
    x86_64-w64-mingw32-objdump -p "$library" >"$work/headers"
    others=$(sed -n 's/^[[:space:]]*DLL Name: //p' "$work/headers" | grep -viE "$of_windows") || true
    [ "${others,,}" = python3.dll ] || { printf '%s\n' "the library needs other libraries than those of Windows and python3.dll:" "$others" >&2; exit 1; }

    # The imports of python3.dll, from its line to the next library's.
    awk '/DLL Name:/ { own = tolower($3) == "python3.dll"; next } own && $3 ~ /^_?Py/ { print $3 }' "$work/headers" >"$work/imports"
    [ "$(wc -l <"$work/imports")" -gt 20 ] || { echo "the imports of $library are not found" >&2; exit 1; }
    grep -vx PyModuleDef_Init "$work/imports" | sed 's/.*/STAND_IN(&)/' >"$work/stand_ins.h"
    x86_64-w64-mingw32-gcc -shared -DPYTHON3 "-DSTAND_INS=\"$work/stand_ins.h\"" tests/machines/load_module.c -o "$work/windows/python3.dll"
    x86_64-w64-mingw32-gcc -Wall -Werror tests/machines/load_module.c -o "$work/windows/load.exe"
    . tests/machines/wine.sh
    name=$(wine "$work/windows/load.exe" "$(winepath -w "$library")" | tr -d '\r')
    wineserver -k || true
    [ "$name" = _trisolar ] || { echo "the module calls itself '$name'" >&2; exit 1; }
    echo "the library loads under Wine, with $(wc -l <"$work/imports") names of Python's stable ABI"
}
# What a 64-bit Windows 10 has.
of_windows='^(api-ms-win-.*|advapi32|bcrypt|bcryptprimitives|kernel32|msvcrt|ntdll|shell32|ucrtbase|user32|userenv|ws2_32)\.dll$'

for wheel in "${wheels[@]}"; do
    case $wheel in
    *aarch64.whl) use_aarch64 "$wheel" ;;
    *win_amd64.whl) use_windows "$wheel" ;;
    *) echo "$wheel is neither for aarch64 nor for Windows" >&2; exit 2 ;;
    esac
done
