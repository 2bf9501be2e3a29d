#!/usr/bin/env bash
# Makes the files of a release from a tag or any other commit: program archives and wheels for each platform, the source distribution of the
# Python package, an archive of the sources, and SHA256SUMS. The same commit, toolchain and requirements.txt give the same bytes.
#
# usage: release/build.sh COMMIT OUT [TARGET...]
# OUT is a folder that does not exist yet. Without a TARGET, all of the table below are built; `none` builds no programs and no wheels.
# This runs on Linux on x86-64, with rustup and python3 (with venv).
# CUDA_BUILDER_RUST_SRC names the folder `library` of rustc's sources, from which the standard library is compiled; `rustup component add
# rust-src` brings it, too. TRISOLAR_RELEASE_PROFILE is cargo's profile, release without it. What is built is removed, unless
# TRISOLAR_RELEASE_WORK names a folder for it.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: $0 COMMIT OUT [TARGET...]" >&2; exit 2; }
fail() { echo "$*" >&2; exit 2; }

# The target; what zig calls it, with the oldest glibc; what maturin checks of the wheel (manylinux must name the same glibc, `off` is no check); the
# kind of the archive; the program; the files of the C library. The first target is for this machine: its program writes the
# manual pages and completions for all. For musl there is a static program (`none`: no wheel, no C library): those are shared libraries, which a
# static program cannot load.
table="\
x86_64-unknown-linux-gnu   x86_64-linux-gnu.2.17   manylinux_2_17  tar.gz  trisolar      libtrisolar_c.so
aarch64-unknown-linux-gnu  aarch64-linux-gnu.2.17  manylinux_2_17  tar.gz  trisolar      libtrisolar_c.so
x86_64-pc-windows-gnu      x86_64-windows-gnu      off             zip     trisolar.exe  trisolar_c.dll libtrisolar_c.dll.a
x86_64-unknown-linux-musl  x86_64-linux-musl       none            tar.gz  trisolar      none"
native=x86_64-unknown-linux-gnu

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
commit=$(git -C "$repository" rev-parse --verify --quiet "$1^{commit}") || fail "$1 is not a commit"
[ ! -e "$2" ] || fail "$2 exists already"
targets=("${@:3}")
if [ ${#targets[@]} = 0 ]; then
    read -ra targets <<<"$(awk '{ printf "%s ", $1 }' <<<"$table")"
elif [ "${targets[*]}" = none ]; then
    targets=()
else
    for target in "${targets[@]}"; do
        grep -q "^$target " <<<"$table" || fail "$target is not one of the targets:
$table"
    done
    [ "${targets[0]}" = $native ] || fail "the first target must be $native: its program writes the manual pages"
fi
profile=${TRISOLAR_RELEASE_PROFILE:-release}
built=$profile
[ "$profile" != dev ] || built=debug

if [ -n "${TRISOLAR_RELEASE_WORK:-}" ]; then
    mkdir -p "$TRISOLAR_RELEASE_WORK"
    work=$(realpath "$TRISOLAR_RELEASE_WORK")
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$2"
out=$(realpath "$2")
say() { printf -- '--- %s\n' "$*"; }

say "The sources of $commit"
rm -rf "$work/source"
mkdir "$work/source"
git -C "$repository" archive "$commit" | tar -xf - -C "$work/source"
cd "$work/source"
version=$(sed -n '/^\[workspace.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
case $1 in v[0-9]*) [ "$1" = "v$version" ] || fail "the tag $1 is on version $version" ;; esac
SOURCE_DATE_EPOCH=$(git -C "$repository" show --no-patch --format=%ct "$commit")
export SOURCE_DATE_EPOCH
archive() { python3 "$work/source/release/archive.py" "$1" "$2" "$SOURCE_DATE_EPOCH"; }

say "Tools"
[ -x "$work/tools/bin/pip" ] || python3 -m venv "$work/tools"
"$work/tools/bin/pip" install -q --disable-pip-version-check -r release/requirements.txt
# rustc looks for MinGW's dlltool when it links for Windows.
printf '#!/bin/sh\nexec python-zig dlltool "$@"\n' >"$work/tools/bin/x86_64-w64-mingw32-dlltool"
chmod +x "$work/tools/bin/x86_64-w64-mingw32-dlltool"
PATH=$work/tools/bin:$PATH
zig_library=$(python -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("ziglang").origin))')/lib

say "The source archive and the source distribution"
mkdir -p "$work/packed"
rm -rf "$work/packed/trisolar-$version-source"
cp -a "$work/source" "$work/packed/trisolar-$version-source"
archive "$work/packed/trisolar-$version-source" "$out/trisolar-$version-source.tar.gz"
(cd python && maturin sdist --out "$out" 2>"$work/said") || { cat "$work/said" >&2; exit 1; }

# No path of this machine is in a program: neither of the sources, nor of the crates, nor of the standard library.
library=${CUDA_BUILDER_RUST_SRC:-$(rustc --print sysroot)/lib/rustlib/src/rust/library}
remapped="--remap-path-prefix=$work/source=trisolar-$version --remap-path-prefix=$work/target=target"
remapped+=" --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$(realpath "$library")=library"
export CARGO_TARGET_DIR=$work/target CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_STRIP=true
unset TRISOLAR_BUILD_KERNELS TRISOLAR_REFRESH_PREBUILT

# Sets `using`: the options with which cargo compiles for a target.
prepare() {
    local target=$1 zig=$2 variable=${1^^}
    variable=CARGO_TARGET_${variable//-/_}
    using=(--profile "$profile" --locked --quiet --target "$target")
    # The standard library that rustup has for this machine; that of others is compiled from its sources, which needs the variables that
    # the developers of rustc and cargo use.
    if [ "$target" != $native ]; then
        [ -d "$library/std" ] || fail "$library does not have the sources of the standard library"
        export RUSTC_BOOTSTRAP=1 __CARGO_TESTS_ONLY_SRC_ROOT=$library
        using+=(-Zbuild-std=std,panic_unwind)
    fi
    export RUSTFLAGS=$remapped
    # zig has musl's start files, its C library and an unwinder; rustc's are not among the sources.
    case $target in *-musl) RUSTFLAGS+=" -Clink-self-contained=no" ;; esac
    # One linker for cargo and maturin, so that nothing is compiled twice.
    # libcuda is an empty file (.cargo/config.toml), of a kind that zig does not look for. The list of what a library for Windows exports reaches
    # zig only as a file; without it, every function is exported.
    cat >"$work/link-$target" <<LINK
#!/bin/sh
for option; do
    shift
    case \$option in
    -lcuda) continue ;;
    -Wl,*.def) option=\${option#-Wl,} ;;
    esac
    set -- "\$@" "\$option"
done
exec cargo-zigbuild zig cc -- -target $zig "\$@"
LINK
    chmod +x "$work/link-$target"
    export "${variable}_LINKER=$work/link-$target"
}

while read -r target zig tag kind program libraries; do
    case " ${targets[*]} " in *" $target "*) ;; *) continue ;; esac
    say "$target"
    prepare "$target" "$zig"
    packages=(-p trisolar)
    # The wheel's crate among them: so maturin finds the library compiled, with the same features.
    [ "$tag" = none ] || packages+=(--features trisolar-python/program -p trisolar_c -p trisolar-python)
    cargo build "${using[@]}" "${packages[@]}"
    folder=$work/packed/trisolar-$version-$target
    rm -rf "$folder"
    mkdir -p "$folder"
    cp README.md CHANGELOG.md CITATION.cff LICENSE-* "$folder"
    # zig links parts of these, too: the C library of musl and MinGW, and an unwinder for code without the Rust one.
    parts=("libunwind=$zig_library/libunwind/LICENSE.TXT")
    case $target in
    *-musl) parts+=("musl=$zig_library/libc/musl/COPYRIGHT") ;;
    *-windows-gnu) parts+=("MinGW-w64=$zig_library/libc/mingw/COPYING") ;;
    esac
    python3 release/licences.py notices "$target" "$folder/THIRD-PARTY-NOTICES.txt" "${parts[@]}"
    if [ "$target" = $native ]; then
        rm -rf "$work/pages"
        mkdir -p "$work/pages/completions"
        "$work/target/$target/$built/trisolar" man "$work/pages/man"
        for shell in bash elvish fish powershell zsh; do
            "$work/target/$target/$built/trisolar" completions $shell >"$work/pages/completions/trisolar.$shell"
        done
    fi
    cp -r "$work/pages/." "$folder"
    cp "$work/target/$target/$built/$program" "$folder"
    if [ "$libraries" != none ]; then
        mkdir "$folder/include" "$folder/lib"
        cp include/trisolar.h "$folder/include"
        for file in $libraries; do cp "$work/target/$target/$built/$file" "$folder/lib"; done
    fi
    archive "$folder" "$out/${folder##*/}.$kind"

    # maturin refuses a library that needs more than the tag allows.
    [ "$tag" = none ] && continue
    rm -rf "$work/wheel"
    (cd python && maturin build "${using[@]}" --features program --compatibility "$tag" --auditwheel check --out "$work/wheel")
    python3 release/licences.py wheel "$work"/wheel/*.whl "$folder/THIRD-PARTY-NOTICES.txt"
    mv "$work"/wheel/*.whl "$out"
done <<<"$table"

say "What may not be in the files: paths of this machine"
python3 - "$out" "$work" "${CARGO_HOME:-$HOME/.cargo}" "$library" <<'PYTHON'
import pathlib, sys, tarfile, zipfile

def contents(path):
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            for entry in archive:
                yield entry.name, archive.extractfile(entry).read()
    else:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield name, archive.read(name)

out, *paths = sys.argv[1:]
found = [f"{file.name}: {name} has {path}"
    for file in sorted(pathlib.Path(out).iterdir())
    for name, data in contents(file)
    for path in paths if path.encode() in data]
sys.exit("\n".join(found) or None)
PYTHON

(cd "$out" && LC_ALL=C sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
