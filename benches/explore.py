#!/usr/bin/env python3
"""Measures how fast `trisolar explore` serves tiles over HTTP, and checks that they equal those of `trisolar divergence`.

    python3 benches/explore.py target/release/trisolar [--backend gpu] [--threads 2] [--simd avx2] [--preset headline] [--repeats 3] [--json FILE]

It needs only Python's standard library. It starts the program, requests the tiles that the page requests in a window of 1280x800
pixels (with a preset, a span of 40 along the shorter side), and prints

- start: from the start of the program to its link, to the first tile, to the coarse view and to the full view (nothing computed
  before); and how long the same pixels take as one map on a device that is ready, which is the least that the full view can take;
- zoom: the full view one level deeper, with the same steps, and with those of the zoom of Badger's study (shift halved, steps added);
- tiles/s: 256x256 pixels of the headline region, and the share of the rate that the program itself reaches with the same
  pixels as one map;
- interactive: how long a coarse tile takes while tiles are prefetched, and alone;
- cancel: how long the device stays busy after a client has disconnected;
- equal: whether tiles have the values of `trisolar divergence`, pixel for pixel.

It exits with 1 if a tile differs.
"""

import argparse
import array
import concurrent.futures
import http.client
import json
import pathlib
import socket
import struct
import subprocess
import tempfile
import time

SIDE = 1024.0
FLYING = 3  # Requests of the page at a time.


class Server:
    def __init__(self, program, options):
        self.began = time.perf_counter()
        self.process = subprocess.Popen([program, "explore", *options], stdout=subprocess.PIPE, text=True)
        link = self.process.stdout.readline().strip()
        self.linked = time.perf_counter() - self.began
        place, token = link.removeprefix("http://").split("/?token=")
        self.host, self.port = place.rsplit(":", 1)
        self.headers = {"X-Trisolar-Token": token}

    def end(self):
        self.process.terminate()
        began = time.perf_counter()
        self.process.wait()
        return time.perf_counter() - began

    def connect(self):
        return http.client.HTTPConnection(self.host, int(self.port), timeout=600)

    def get(self, path):
        connection = self.connect()
        connection.request("GET", path, headers=self.headers)
        return json.load(connection.getresponse())

    def tiles(self, specification, tiles, ahead=False):
        """The values of these tiles, in their order."""
        connection = self.connect()
        body = json.dumps({"specification": specification, "tiles": tiles, "ahead": ahead})
        connection.request("POST", "/api/tiles", body, {"Content-Type": "application/json", **self.headers})
        response = connection.getresponse()
        if response.status != 200:
            raise SystemExit(f"{response.status}: {response.read().decode()}")
        found = [None] * len(tiles)
        while head := response.read(16):
            magic, tag, _, index, _, length = struct.unpack("<4sBBHII", head)
            payload = response.read(length)
            if magic != b"TSTL" or tag != 1:
                raise SystemExit(payload.decode(errors="replace"))
            found[index] = array.array("I", payload)
        connection.close()
        return found

    def view(self, specification, tiles, group):
        """All of these tiles, in requests of `group`, several at a time; and how long that took."""
        began = time.perf_counter()
        groups = [tiles[k:k + group] for k in range(0, len(tiles), group)]
        with concurrent.futures.ThreadPoolExecutor(FLYING) as pool:
            parts = list(pool.map(lambda part: self.tiles(specification, part), groups))
        return [tile for part in parts for tile in part], time.perf_counter() - began


def on_screen(level, pixels, center, span):
    """Tiles of a rectangle, the nearest to its centre first."""
    side = SIDE * 2.0**-level
    ranges = [range(int((c - s / 2) // side), int(-(-(c + s / 2) // side))) for c, s in zip(center, span)]
    tiles = [[level, x, y, pixels] for y in ranges[1] for x in ranges[0]]
    return sorted(tiles, key=lambda t: (t[1] - center[0] / side + 0.5) ** 2 + (t[2] - center[1] / side + 0.5) ** 2)


def divergence(program, options, specification, center, span, size, folder):
    """The map by the command line: its values, and the time of its computation."""
    words = [f"--{name.replace('_', '-')}={','.join(map(str, v)) if isinstance(v, list) else v}" for name, v in specification.items()]
    command = [program, "divergence", f"--size={size}", f"--center={center[0]!r},{center[1]!r}", f"--span={span!r}", *words,
               *options, "--json", "--out", str(folder / "map.npy")]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    data = (folder / "map.npy").read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return array.array("I", data[start:]), told


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int, help="[default: as many as the process may use]")
    parser.add_argument("--simd", help="[default: the widest that the processor has]")
    parser.add_argument("--preset", help="a preset of the page [default: the first]")
    parser.add_argument("--steps", type=int, help="[default: the preset's]")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--pixels", type=int, default=128, help="pixels of a tile in a view: 128 as the page has; less to try it on a CPU")
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    options = ["--backend", given.backend] + (["--threads", str(given.threads)] if given.threads else [])
    options += ["--simd", given.simd] if given.simd else []
    results = {}

    def say(name, value, unit=""):
        results[name] = value
        print(f"{name:44} {value if isinstance(value, (bool, str)) else format(value, '.4g')} {unit}", flush=True)

    server = Server(given.program, options)
    about = server.get("/api/about")
    say("device", about["map"]["device"])
    gpu = about["map"]["gpu"]
    name = given.preset or about["map"]["start"]
    base = dict(next(preset for preset in about["map"]["presets"] if preset["name"] == name)["specification"])
    usual = {parameter["name"]: parameter["default"] for parameter in about["map"]["parameters"]}
    base["steps"] = given.steps or base.get("steps", usual["steps"])
    say("specification", json.dumps(base))
    # The map in a window of 1280x800 pixels with the controls open: 951x800 pixels, 0.05 wide each. Level 7 has tiles of 8 in 128 pixels.
    screen = [951 * 0.05, 800 * 0.05]
    first = on_screen(7, given.pixels, [0.0, 0.0], screen)
    coarse = [tile[:3] + [16 if gpu else 8] for tile in first]
    group = 64 if gpu else 2
    say("tiles in the view", len(first))
    say("link after", server.linked, "s")
    server.tiles({**base, "steps": 1}, [[7, 0, 0, 1]])
    say("first pixel after the start", time.perf_counter() - server.began, "s")
    server.view(base, coarse, 64)
    say("coarse view after the start", time.perf_counter() - server.began, "s")
    tiles, took = server.view(base, first, group)
    say("full view after the start", time.perf_counter() - server.began, "s")
    say("full view of a page opened later", took, "s")
    in_view = sum(map(sum, tiles))
    say("pixel-steps in the view", in_view)
    say("a pixel of one step", min(timed(lambda k=k: server.tiles({**base, "steps": 1}, [[7, 3, k, 1]])) for k in range(9)), "s")
    # One level deeper, about a point of the region.
    deeper = on_screen(8, given.pixels, [5.30031, -0.45], [s / 2 for s in screen])
    _, took = server.view(base, deeper, group)
    say("zoom by one level, same steps", took, "s")
    zoom = about["map"]["zoom"]
    steps = round(base["steps"] * (1 + zoom["steps_added"] / zoom["steps_at"]))
    followed = {**base, "steps": steps, "shift": [0.001 * zoom["shift_factor"]] * 3}
    _, took = server.view(followed, deeper, group)
    say(f"zoom by one level, {steps} steps", took, "s")

    # Tiles of 256x256 pixels of the region from -32 to 32; another shift each time, so that none is known.
    pixels = 2 * given.pixels
    region = on_screen(7, pixels, [0.0, 0.0], [64.0, 64.0])
    rates, tile_rates, own, equal = [], [], [], True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for repeat in range(given.repeats):
            specification = {**base, "shift": [0.001 + 1e-6 * (repeat + 1)] * 3}
            tiles, took = server.view(specification, region, group)
            done = sum(map(sum, tiles))
            rates.append(done / took)
            tile_rates.append(len(tiles) / took)
            whole, told = divergence(given.program, options, specification, [0.0, 0.0], 64.0, 8 * pixels, folder)
            own.append(sum(whole) / told["seconds"])
            for (_, x, y, n), tile in zip(region, tiles):
                for row in range(n):
                    at = ((y + 4) * n + row) * 8 * n + (x + 4) * n
                    equal = equal and tile[row * n:(row + 1) * n] == whole[at:at + n]
        # And single tiles, deep and shallow.
        for tile in ([9, -3, 5, 64], [20, 5427, -461, 64], [40, 5690998000, -483183821, 64], [3, 0, -1, 64]):
            side = SIDE * 2.0**-tile[0]
            found = server.tiles(base, [tile])[0]
            whole, _ = divergence(given.program, options, base, [(tile[1] + 0.5) * side, (tile[2] + 0.5) * side], side, tile[3], folder)
            equal = equal and found == whole
    say(f"tiles/s of {pixels}x{pixels} over HTTP", max(tile_rates))
    say("pixel-steps/s over HTTP", max(rates))
    say("pixel-steps/s of the same map by itself", max(own))
    say("share", max(rates) / max(own))
    say("pixels of the view as one map at this rate", in_view / max(own), "s")

    # A coarse tile of the screen while tiles are prefetched.
    alone = min(timed(lambda k=k: server.tiles(base, [[6, 3, k, 8]])) for k in range(3))
    waits = []
    for repeat in range(5):
        specification = {**base, "shift": [0.001 + 1e-5 * (repeat + 7)] * 3}
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            prefetched = pool.submit(server.tiles, specification, [[6, x, y, pixels] for x in (0, 1, 2) for y in (0, 1)], True)
            time.sleep(0.1)
            waits.append(timed(lambda k=repeat: server.tiles(base, [[6, 4, k, 8]])))
            running = not prefetched.done()
        if not running:
            waits.pop()
    say("coarse tile, alone", alone, "s")
    if waits:
        say(f"coarse tile during prefetching, worst of {len(waits)}", max(waits), "s")

    # A client that goes: how long the device is still busy.
    waits = []
    for repeat in range(5):
        specification = {**base, "steps": 20 * base["steps"], "shift": [0.001 + 1e-5 * (repeat + 1)] * 3}
        body = json.dumps({"specification": specification, "tiles": [[6, x, 0, 256] for x in range(8)]}).encode()
        stream = socket.create_connection((server.host, int(server.port)))
        stream.sendall(b"POST /api/tiles HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/json\r\nX-Trisolar-Token: %s\r\nContent-Length: %d\r\n\r\n"
                       % (server.host.encode(), server.port.encode(), server.headers["X-Trisolar-Token"].encode(), len(body)) + body)
        time.sleep(0.3)
        stream.close()
        began = time.perf_counter()
        while server.get("/api/status")["tiles"]:
            time.sleep(0.001)
        waits.append(time.perf_counter() - began)
    say("cancelled until the device is free, worst of 5", max(waits), "s")
    say("a pixel of all steps, alone", min(timed(lambda k=k: server.tiles(base, [[7, 6, k, 1]])) for k in range(5)), "s")
    say("Ctrl-C until the end", server.end(), "s")
    say("equal to trisolar divergence", equal)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))
    return 0 if equal else 1


def timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    raise SystemExit(main())
