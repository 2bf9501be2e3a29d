# Sourced by scripts that need Debian's packages.

# install_missing PACKAGE... installs the packages, of which there may be none.
install_missing() {
    [ $# -gt 0 ] || return 0
    local root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    # One after the other, where several scripts run at the same time.
    (
        flock 9
        "${root[@]}" apt-get update -q
        "${root[@]}" apt-get install -q -y --no-install-recommends "$@"
    ) 9>"${TMPDIR:-/tmp}/trisolar-install.lock"
}
