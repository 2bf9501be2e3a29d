"""Packs a folder, so that the same files give the same bytes.

usage: python archive.py FOLDER ARCHIVE SECONDS

ARCHIVE ends in .tar.gz or .zip. Its names begin with the name of FOLDER and are sorted; every file has the time SECONDS (after 1970, UTC), no
owner, and one of two modes, for what may be executed and what may not.
"""

import gzip
import io
import sys
import tarfile
import time
import zipfile
from pathlib import Path


def mode(path: Path) -> int:
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def tar_gz(files: "list[tuple[str, Path]]", archive: Path, seconds: int) -> None:
    with archive.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=seconds) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, path in files:
                data = path.read_bytes()
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime, entry.mode = len(data), seconds, mode(path)
                tar.addfile(entry, io.BytesIO(data))


def zipped(files: "list[tuple[str, Path]]", archive: Path, seconds: int) -> None:
    with zipfile.ZipFile(archive, "w") as packed:
        for name, path in files:
            entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            entry.create_system = 3  # modes as in tar archives
            entry.external_attr = (0o100000 | mode(path)) << 16
            packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, archive, seconds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    paths = sorted(p for p in folder.rglob("*") if p.is_file())
    if not paths:
        sys.exit(f"{folder} has no files")
    files = [(p.relative_to(folder.parent).as_posix(), p) for p in paths]
    if archive.name.endswith(".tar.gz"):
        tar_gz(files, archive, seconds)
    elif archive.suffix == ".zip":
        zipped(files, archive, seconds)
    else:
        sys.exit(f"{archive}: the name must end in .tar.gz or .zip")


main()
