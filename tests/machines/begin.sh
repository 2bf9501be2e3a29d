# Sourced by the scripts of this folder that compare this machine's program with another, with their arguments: takes PROGRAM, goes to the
# project's folder, and makes the folder $work, which is removed at the end. A script that must end something else defines clean_up.
[ $# = 1 ] && [ -x "$1" ] || { echo "usage: $0 PROGRAM, which is an executable file" >&2; exit 2; }
program=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$(mktemp -d)
clean_up() { :; }
trap 'clean_up; rm -rf "$work"' EXIT

. tests/machines/install.sh

# selftest_quick PROGRAM... compares all engines of a program with each other and shows the result.
selftest_quick() {
    "$@" selftest --quick >"$work/said" 2>&1 || { cat "$work/said" >&2; return 1; }
    tail -n 1 "$work/said"
}
