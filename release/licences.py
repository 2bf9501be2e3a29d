"""The licences of what Trisolar's programs, libraries and wheels contain besides Trisolar: crates, fonts and the standard library.

usage: python licences.py check [TARGET...]
       python licences.py notices TARGET FILE [NAME=TEXT...]
       python licences.py wheel WHEEL NOTICES

`check` fails for a crate whose licence is not among those below, or that has no text of it; so does `notices`, which writes the texts, each
once, and those of other components (`musl=COPYRIGHT`). `wheel` adds the notices and Trisolar's own licences to a wheel. Run it in the repository.
"""

import base64
import hashlib
import html.parser
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

# All of them allow binaries under MIT OR Apache-2.0 that carry their texts.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "ISC", "MIT", "Unicode-3.0",
    "Unlicense", "Zlib",
}
ROOTS = ("trisolar", "trisolar_c", "trisolar-python")
TARGETS = ("x86_64-unknown-linux-gnu",)
TEXTS = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|COPYRIGHT|UNLICENSE)([-._].*)?", re.IGNORECASE)
OWN = ("LICENSE-MIT", "LICENSE-APACHE")


def crates(target):
    """The crates of other authors that are compiled for a target, in the order of their names."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["source"] is None and package["name"] in ROOTS]
    assert len(waiting) == len(ROOTS), "all of Trisolar's products are in the workspace"
    reached = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and dependency["pkg"] not in reached:
                reached.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    others = [packages[key] for key in reached if packages[key]["source"] is not None]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def is_allowed(expression):
    """Whether an SPDX expression can be met by allowed licences; `/` is an old way to write OR."""
    words = re.findall(r"\(|\)|[^\s()/]+", (expression or "").replace("/", " OR "))

    def alternatives():
        met = all_of()
        while words and words[0] == "OR":
            words.pop(0)
            met = all_of() or met
        return met

    def all_of():
        met = one()
        while words and words[0] == "AND":
            words.pop(0)
            met = one() and met
        return met

    def one():
        word = words.pop(0) if words else ""
        if word == "(":
            met = alternatives()
            return words.pop(0) == ")" and met
        if words[:1] == ["WITH"]:
            word += f" WITH {words[1]}"
            del words[:2]
        return word in ALLOWED

    return alternatives() and not words


def texts_of(package):
    """The licence texts in a crate, also those of fonts and other things that it brings along."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.rglob("*") if path.is_file() and TEXTS.fullmatch(path.name) and path.suffix not in (".rs", ".ttf"))
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    if not texts and "Apache-2.0" in (package["license"] or ""):
        # Its authors offer this licence, whose text is the same everywhere.
        authors = ", ".join(package["authors"]) or "its authors"
        texts = [f"Copyright {authors}\nLicensed under the Apache License, Version 2.0", Path("LICENSE-APACHE").read_text(encoding="utf-8")]
    return texts


class Plain(html.parser.HTMLParser):
    """The text of a page."""

    def __init__(self):
        super().__init__()
        self.text = ""

    def handle_data(self, data):
        self.text += data


def standard_library():
    root = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    plain = Plain()
    plain.feed((Path(root) / "share/doc/rust/COPYRIGHT-library.html").read_text(encoding="utf-8"))
    return re.sub(r"\n\s*\n+", "\n\n", plain.text)


def notices(target, others):
    """All texts, each with the names of those to which it applies."""
    parts = [(f"{package['name']} {package['version']} ({package['license']})", texts_of(package)) for package in crates(target)]
    parts.append(("the Rust standard library", [standard_library()]))
    parts += [(name, [Path(file).read_text(encoding="utf-8", errors="replace")]) for name, file in others]
    users = {}
    for name, texts in parts:
        for text in texts:
            users.setdefault(" ".join(text.split()), (text.strip(), []))[1].append(name)
    rule = "-" * 100
    head = "Trisolar contains software of other authors and the fonts DejaVu. These are their licences, and what each applies to."
    found = [f"{rule}\n" + "\n".join(dict.fromkeys(names)) + f"\n{rule}\n\n{text}\n" for text, names in users.values()]
    return head + "\n\n" + "\n".join(found)


def check(targets):
    wrong = {}
    for target in targets or TARGETS:
        for package in crates(target):
            name = f"{package['name']} {package['version']}"
            if not is_allowed(package["license"]):
                wrong[name] = f"the licence {package['license']} is not among those that release/licences.py allows"
            elif not texts_of(package):
                wrong[name] = f"there is no text of its licence, {package['license']}"
    return "\n".join(f"{name}: {reason}" for name, reason in sorted(wrong.items())) or None


def add_to_wheel(wheel, notices):
    with zipfile.ZipFile(wheel) as packed:
        entries = [(entry, packed.read(entry)) for entry in packed.infolist()]
    record = next(entry for entry, _ in entries if entry.filename.endswith(".dist-info/RECORD"))
    folder = record.filename[: -len("RECORD")] + "licenses/"
    new = [(folder + Path(path).name, Path(path).read_bytes()) for path in (*OWN, notices)]
    rows = []
    for name, data in new:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    with zipfile.ZipFile(wheel, "w") as packed:
        for entry, data in entries:
            if entry is record:
                for name, text in new:
                    added = zipfile.ZipInfo(name, record.date_time)
                    added.create_system, added.external_attr = record.create_system, record.external_attr
                    packed.writestr(added, text, zipfile.ZIP_DEFLATED, 9)
                data = data.rstrip(b"\n") + b"\n" + "".join(rows).encode()
            packed.writestr(entry, data, entry.compress_type, 9)


match sys.argv[1:]:
    case ["check", *targets]:
        sys.exit(check(targets))
    case ["notices", target, file, *others]:
        if wrong := check([target]):
            sys.exit(wrong)
        Path(file).write_text(notices(target, [other.split("=", 1) for other in others]), encoding="utf-8")
    case ["wheel", wheel, file]:
        add_to_wheel(wheel, file)
    case _:
        sys.exit(__doc__)
