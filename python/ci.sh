#!/usr/bin/env bash
# The Python package and the C interface as their users meet them: the wheel built and installed, pytest and mypy, the C
# programs under a leak checker, the ctypes example. Needs cargo, a C compiler and python3; what it installs stays in
# .ci-cache/python. TRISOLAR_CI_FEATURES, such as --no-default-features, goes to cargo. TRISOLAR_CI_PROFILE is cargo's
# profile, release without it; `test` means what `cargo test` has compiled already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

read -r -a features <<<"${TRISOLAR_CI_FEATURES:-}"
profile=${TRISOLAR_CI_PROFILE:-release}
folder=$profile
settings=()
if [ "$profile" = test ]; then
    # maturin calls `cargo rustc`, to which the profile's name means the test harness: the profile dev gets its settings.
    profile=dev folder=debug
    while read -r setting; do settings+=(--config "$setting"); done < <(python3 - <<'PYTHON'
import json, tomllib

def settings(name, table):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from settings(f"{name}.{json.dumps(key)}", value)
        else:
            yield f"{name}.{key}={json.dumps(value)}"

print(*settings("profile.dev", tomllib.load(open("Cargo.toml", "rb"))["profile"]["test"]), sep="\n")
PYTHON
    )
    [ ${#settings[@]} -gt 0 ]
fi
target=$(cargo metadata --format-version 1 --no-deps --locked |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
cache=$PWD/.ci-cache/python
mkdir -p "$cache"
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

. tests/machines/install.sh
say() { printf -- '--- %s\n' "$*"; }

say "A virtual environment"
if ! [ -x "$cache/venv/bin/pip" ]; then
    python3 -c 'import ensurepip' 2>/dev/null || install_missing python3-venv
    rm -rf "$cache/venv"
    python3 -m venv "$cache/venv"
fi
python=$cache/venv/bin/python
"$python" -m pip install -q 'maturin>=1.8,<2' numpy matplotlib tqdm pytest mypy types-tqdm pandas pandas-stubs xarray zarr 'pyright[nodejs]' nbclient ipykernel

say "The program and the C library"
# The wheel's crate among them: so maturin finds the library compiled, with the same features.
[ ${#features[@]} -gt 0 ] || features=(--features program)
cargo build "${settings[@]}" --profile "$profile" --locked --quiet "${features[@]/#program/trisolar-python/program}" -p trisolar -p trisolar_c -p trisolar-python

say "The wheel"
rm -rf "$cache/wheels"
(cd python && "$cache/venv/bin/maturin" build "${settings[@]}" --profile "$profile" --locked --quiet "${features[@]}" \
    --interpreter "$python" --out "$cache/wheels")
python3 release/licences.py notices "$(rustc -vV | sed -n 's/^host: //p')" "$cache/THIRD-PARTY-NOTICES.txt"
python3 release/licences.py wheel "$cache"/wheels/trisolar-*.whl "$cache/THIRD-PARTY-NOTICES.txt"
"$python" -m pip install -q --force-reinstall --no-deps "$cache"/wheels/trisolar-*.whl
"$python" - <<'PYTHON'
from importlib.metadata import files

texts = {file.name: file.read_text() for file in files("trisolar") if file.parent.name == "licenses"}
assert sorted(texts) == ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-NOTICES.txt"], sorted(texts)
assert "Bitstream Vera" in texts["THIRD-PARTY-NOTICES.txt"]
PYTHON

say "The source distribution"
rm -rf "$cache/sdist"
(cd python && "$cache/venv/bin/maturin" sdist --out "$cache/sdist")
tar -xzf "$cache"/sdist/trisolar-*.tar.gz -C "$cache/sdist" --strip-components=1
# Not compiled again: its manifests are read, and it has every file of what is compiled.
(cd "$cache/sdist" && cargo metadata --format-version 1 --no-deps --offline >/dev/null)
crates=()
for crate in "$cache"/sdist/crates/*; do crates+=("crates/${crate##*/}"); done
git ls-files .cargo Cargo.lock build.rs rust-toolchain.toml host kernels-gpu python/src python/package "${crates[@]}" |
    grep -v '^crates/.*/tests/' | sed 's|^python/package/|package/|' >"$cache/needed"
[ "$(wc -l <"$cache/needed")" -gt 200 ]
while read -r file; do
    if ! [ -e "$cache/sdist/$file" ]; then
        echo "the source distribution lacks $file" >&2
        exit 1
    fi
done <"$cache/needed"

say "mypy"
(cd python && "$python" -m mypy --cache-dir "$cache/mypy" package/trisolar tests examples &&
    MYPY_CACHE_DIR=$cache/mypy "$python" -m mypy.stubtest trisolar --mypy-config-file pyproject.toml)

say "pyright"
"$cache/venv/bin/pyright" --pythonpath "$python" python/package/trisolar

say "pytest"
(cd python && TRISOLAR_BIN=$target/$folder/trisolar "$python" -m pytest -q -p no:cacheprovider)

say "The C programs"
flags=(-std=c99 -pedantic -Wall -Wextra -Werror -Iinclude)
link=(-L"$target/$folder" "-Wl,-rpath,$target/$folder" -ltrisolar_c)
cc "${flags[@]}" examples/c/divergence.c "${link[@]}" -o "$cache/divergence"
printf 'size = [40, 30]\nsteps = 20000\n' >"$cache/map.toml"
"$cache/divergence" "$cache/map.toml" "$cache/map.png" 2>"$cache/progress"
grep -q '100 %' "$cache/progress"
[ "$(head -c 4 "$cache/map.png" | tail -c 3)" = PNG ]

if command -v valgrind >/dev/null; then
    say "No leaks (valgrind)"
    cc "${flags[@]}" -g crates/trisolar_c/tests/c/interface.c "${link[@]}" -o "$cache/interface"
    # Threads of a pool that is being dropped may still be ending: what they hold is not lost. Threads take turns: otherwise one that
    # computes may never let the one that would end it have its turn.
    checked=(valgrind -q --fair-sched=try --leak-check=full --show-leak-kinds=definite,indirect
        --errors-for-leak-kinds=definite,indirect --error-exitcode=99 "$cache/interface")
else
    say "No leaks (LeakSanitizer)"
    cc "${flags[@]}" -g -fsanitize=leak crates/trisolar_c/tests/c/interface.c "${link[@]}" -o "$cache/interface"
    checked=(env LSAN_OPTIONS=exitcode=99 "$cache/interface")
fi
"${checked[@]}" "$cache"
status=0
"${checked[@]}" leak 2>"$cache/leak" || status=$?
if [ "$status" != 99 ]; then
    echo "the leak checker did not notice a leak (status $status)" >&2
    exit 1
fi

say "The ctypes example"
"$python" examples/c/divergence_ctypes.py "$target/$folder/libtrisolar_c.so" "$cache/map.npy" | tee "$cache/ctypes"
grep -q '443725853 pixel-steps' "$cache/ctypes"

say "The figures, small"
for script in python/examples/*_figures.py; do
    MPLBACKEND=Agg "$python" "$script" --quick --out "$cache/figures"
done
ls "$cache/figures"

say "The notebooks"
(cd "$cache" && "$cache/venv/bin/jupyter-execute" "$OLDPWD"/python/examples/*.ipynb)
