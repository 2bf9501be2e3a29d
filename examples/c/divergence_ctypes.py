"""A divergence map through the C interface with ctypes, as a NumPy array: what to do where the package `trisolar`
cannot be installed, or from another language with a foreign function interface.

    cargo build --release -p trisolar_c
    python3 examples/c/divergence_ctypes.py target/release/libtrisolar_c.so map.npy
"""

import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_uint32, c_void_p

import numpy as np


def load(path):
    """The library, with the types of the functions used here."""
    library = ctypes.CDLL(path)
    for name, result, arguments in [
        ("trisolar_last_error", c_char_p, []),
        ("trisolar_spec_from_toml", c_int32, [c_char_p, POINTER(c_void_p)]),
        ("trisolar_spec_size", c_int32, [c_void_p, POINTER(c_uint32), POINTER(c_uint32)]),
        ("trisolar_spec_free", None, [c_void_p]),
        ("trisolar_divergence_run", c_int32, [c_void_p, c_void_p, POINTER(c_void_p)]),
        ("trisolar_map_copy_steps_together", c_int32, [c_void_p, c_void_p, c_size_t]),
        ("trisolar_map_free", None, [c_void_p]),
    ]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def divergence(library, toml):
    """`steps_together` of the map that the TOML text describes: uint32, (height, width)."""

    def check(status):
        if status != 0:
            raise RuntimeError(library.trisolar_last_error().decode())

    spec, map = c_void_p(), c_void_p()
    try:
        check(library.trisolar_spec_from_toml(toml.encode(), byref(spec)))
        width, height = c_uint32(), c_uint32()
        check(library.trisolar_spec_size(spec, byref(width), byref(height)))
        # ctypes releases the interpreter's lock during the call.
        check(library.trisolar_divergence_run(spec, None, byref(map)))
        steps_together = np.empty((height.value, width.value), np.uint32)
        check(library.trisolar_map_copy_steps_together(map, steps_together.ctypes.data, steps_together.size))
        return steps_together
    finally:
        library.trisolar_map_free(map)
        library.trisolar_spec_free(spec)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    steps_together = divergence(load(sys.argv[1]), "size = 100\n")
    print(f"{steps_together.shape[1]}x{steps_together.shape[0]} pixels, {steps_together.sum(dtype=np.uint64)} pixel-steps")
    print(f"{np.count_nonzero(steps_together == 50000)} never parted, the first after {steps_together.min()} steps")
    if len(sys.argv) == 3:
        np.save(sys.argv[2], steps_together)
