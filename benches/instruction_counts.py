#!/usr/bin/env python3
"""Counts the instructions of the engines' inner loops for AVX2 and for NEON, from their disassembly.

usage: benches/instruction_counts.py X86 AARCH64

X86 and AARCH64 are folders with libtrisolar_map.rlib, libtrisolar_nbody.rlib and libtrisolar_cluster.rlib, built in release mode with
RUSTFLAGS=-Csymbol-mangling-version=v0:

    cargo build --release -p trisolar-map -p trisolar-nbody -p trisolar-cluster --no-default-features

and the same with -Zbuild-std=std,panic_unwind --target aarch64-unknown-linux-gnu, in the environment that tests/machines/build_std.sh sets.
It needs objdump and aarch64-linux-gnu-objdump.

Of a loop it takes the way round that has the most fused multiply-adds and, of these, the fewest instructions: rare cases, which leave that way,
do not count. Loops of both machines with the same arithmetic are compared; a vector has 4 numbers of 64 bits with AVX2 and 2 with NEON. This is a
count and no measurement: it does not tell how many instructions a CPU executes at a time.
"""

import re
import subprocess
import sys
from pathlib import Path

FUSED = re.compile(r"v?fn?m(add|sub)|fml[as]\b|fnm")
ARITHMETIC = re.compile(r"v?fn?m(add|sub)|fml[as]\b|fnm|v(add|sub|mul|div|sqrt)p|f(add|sub|mul|div|sqrt)\b")
CONDITIONAL = re.compile(r"j(?!mp)\w+|b\.\w+|cbn?z|tbn?z")
JUMP = re.compile(r"jmp\w*|b$")
CALL = re.compile(r"call\w*|bl$|blr")
ENDS = re.compile(r"ret\w*|ud2|udf|brk")

METHOD = r"<trisolar_map::cpu::ByMethod<\(kernels_gpu::quantity::divergence::Divergence, {}, kernels_gpu::integrator::{}\)>"
# What is counted, its library, and a pattern of the functions' names.
COUNTED = [
    # On a CPU the precision `fast` has the arithmetic of `f64`. The compiler may keep one function for both, under either name.
    ("pixel-step, explicit-euler", "map", METHOD.format("(f64|kernels_gpu::number::fast::Fast)", "explicit_euler::ExplicitEuler")),
    ("pixel-step, leapfrog", "map", METHOD.format("f64", "leapfrog::Leapfrog")),
    ("pixel-step, rk4", "map", METHOD.format("f64", "runge_kutta_4::RungeKutta4")),
    ("pixel-step, hermite4", "map", METHOD.format("f64", "hermite_4::Hermite4")),
    ("N-body, basic, f64", "nbody", r"::(avx2|neon)::basic::<3>"),
    ("N-body, basic, f32", "nbody", r"::single_(avx2|neon)::basic::<3>"),
    ("cluster, forces, f64", "cluster", r"::cpu_force::forces_on(::avx2)?$"),
]
TOOLS = ("objdump", "aarch64-linux-gnu-objdump")


def functions(path, tool):
    """The functions of a library by their names: lists of (address, operation, operands)."""
    text = subprocess.run([tool, "-d", "-C", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    found, code = {}, None
    for line in text.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            code = found.setdefault(head[1], [])
        elif (parts := line.split("\t")) and len(parts) > 1 and parts[1].strip() and code is not None:
            words = "\t".join(parts[1:]).split(None, 1)
            code.append((int(parts[0].strip(" :"), 16), words[0], words[1] if len(words) > 1 else ""))
    return found


def loops(code):
    """The ways round the innermost loops of a function: (fused multiply-adds, instructions, vector arithmetic)."""
    at = {address: i for i, (address, _, _) in enumerate(code)}

    def target(i):
        branch = re.search(r"(?:^|[ ,])([0-9a-f]+) <", code[i][2])
        return at.get(int(branch[1], 16)) if branch else None

    backward = sorted(
        (i - t, t, i) for i in range(len(code)) if (CONDITIONAL.match(code[i][1]) or JUMP.match(code[i][1])) and (t := target(i)) is not None and t <= i
    )
    counted = []
    for _, first, last in backward:
        if any(first <= f and l <= last for _, f, l in counted):
            continue  # not innermost
        best = {first: (0, 0, 0)}
        for i in range(first, last + 1):
            if i not in best or CALL.match(code[i][1]) or ENDS.match(code[i][1]):
                continue
            fused, others, arithmetic = best[i]
            operation = code[i][1]
            after = (fused + bool(FUSED.match(operation)), others - 1, arithmetic + bool(ARITHMETIC.match(operation)))
            nexts = [] if JUMP.match(operation) else [i + 1]
            if CONDITIONAL.match(operation) or JUMP.match(operation):
                nexts.append(target(i))
            if i == last:
                best[last + 1] = max(best.get(last + 1, after), after)
                continue
            for n in nexts:
                if n is not None and i < n <= last:
                    best[n] = max(best.get(n, after), after)
        if last + 1 in best and best[last + 1][0]:
            counted.append((best[last + 1], first, last))
    return [(fused, -others, arithmetic) for (fused, others, arithmetic), _, _ in counted]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(f"{'loop':<28} {'arithmetic':>10} {'fused':>6} {'AVX2':>6} {'NEON':>6} {'ratio':>6}")
    libraries = {}
    for what, library, pattern in COUNTED:
        found = []
        for folder, tool in zip(sys.argv[1:], TOOLS):
            if (library, tool) not in libraries:
                libraries[library, tool] = functions(Path(folder) / f"libtrisolar_{library}.rlib", tool)
            least = {}
            for name, code in libraries[library, tool].items():
                if re.search(pattern, name) and not re.search("avx512|scalar", name):
                    for fused, instructions, arithmetic in loops(code):
                        key = (arithmetic, fused)
                        least[key] = min(instructions, least.get(key, instructions))
            found.append(least)
        avx2, neon = found
        # One machine may write a loop out twice as often as the other: that is the same arithmetic, too.
        for scale in (1, 2):
            for (arithmetic, fused), instructions in sorted(avx2.items(), reverse=True):
                other = neon.get((scale * arithmetic, scale * fused))
                if other is not None and arithmetic >= 30:
                    ratio = other / scale / instructions
                    print(f"{what:<28} {arithmetic:>10} {fused:>6} {instructions:>6} {other / scale:>6.0f} {ratio:>6.2f}")


if __name__ == "__main__":
    main()
