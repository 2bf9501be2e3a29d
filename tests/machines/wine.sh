# Sourced by scripts that run programs under Wine: sets it up in $work/wine.

# The folder that stands for the disk of Windows, and no windows for users.
export WINEPREFIX=$work/wine WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml=
unset DISPLAY
wineboot --init >/dev/null 2>&1
[ -e "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" ] ||
    x86_64-w64-mingw32-gcc -O1 -shared -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" tests/machines/bcryptprimitives.c -ladvapi32
