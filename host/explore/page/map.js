// The map: the tiles on the screen, their level of detail, and how they are drawn.

import * as api from "./api.js";

const TILE = 128;         // Pixels of a tile along a side: few of them lie beyond the edges of the screen.
export const DEPTH = Math.log2(TILE); // Levels from a tile to one of its pixels.
const KEPT = 1600;        // Tiles in memory.
const FLYING = 3;         // Requests at a time; browsers open six connections to a server.
const GROUP_SECONDS = { cpu: 0.4, gpu: 2 }; // Work of a request: what is asked for together is given up together, and keeps a GPU busy.
const SAMPLE = 24_000;    // Values for range and equalisation.

/** Distance of neighbouring 64-bit numbers at x. */
export const ulp = (x) => (x === 0 ? Number.MIN_VALUE : 2 ** (Math.floor(Math.log2(Math.abs(x))) - 52));

export class MapView {
  /** `hooks`: specification(), from(), steps(), colouring(), bounds() of tiles along the axes, deepest() level of a pixel, changed(), coloured(), resized(), idle(how), failed(error). */
  constructor(canvas, marks, about, colours, hooks) {
    Object.assign(this, { canvas, marks, about, colours, hooks });
    this.context = canvas.getContext("2d", { alpha: false });
    this.tiles = new Map();
    this.requests = new Set();
    this.failed = new Set(); // Tiles that the server refuses.
    this.center = [0, 0];
    this.scale = 0.1;      // Length of a CSS pixel.
    this.ladder = about.map.gpu ? [16, TILE] : [8, 32, 64, TILE];
    this.rate = about.map.gpu ? 5e10 : 1e8;
    this.family = "";    // Maps of which one may stand in for another until that is there.
    this.exact = "";     // The map itself.
    this.clock = 0;
    this.measure();
    new ResizeObserver(() => { this.measure(); this.hooks.resized(); }).observe(canvas);
  }

  get size() { return [this.width, this.height]; }

  measure() {
    const box = this.canvas.getBoundingClientRect();
    [this.width, this.height] = [Math.max(1, box.width), Math.max(1, box.height)];
    this.ratio = Math.min(3, devicePixelRatio || 1);
    for (const canvas of [this.canvas, this.marks]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
    }
  }

  show(center, scale, family, exact) {
    if (exact !== this.exact) {
      [this.family, this.exact] = [family, exact];
      this.failed.clear();
      this.giveUp(() => true);
    }
    this.center = center;
    this.scale = scale;
    this.refresh();
  }

  // Coordinates. The differences are of numbers close to each other, and so exact, however deep the zoom.
  // The map's y grows upwards, that of the screen downwards.
  toScreen([x, y]) { return [(x - this.center[0]) / this.scale + this.width / 2, (this.center[1] - y) / this.scale + this.height / 2]; }
  toMap([sx, sy]) { return [this.center[0] + (sx - this.width / 2) * this.scale, this.center[1] - (sy - this.height / 2) * this.scale]; }

  /** The level whose pixels are nearest to the screen's. On a CPU four times the pixels of a fine screen would take four times as long. */
  get level() {
    const pixel = this.scale / (this.about.map.gpu ? this.ratio : 1);
    const { side } = this.about.limits;
    return Math.max(0, Math.min(this.deepest, Math.round(Math.log2(side / TILE / pixel))));
  }
  get deepest() { return Math.min(this.about.limits.level, this.hooks.deepest()) - DEPTH; }
  side(level) { return this.about.limits.side * 2 ** -level; }

  /** The pixel of the present level at a place of the screen, as a tile of one pixel. A pixel surrounds the place of its value. */
  pixelAt(place) {
    const level = this.level + DEPTH, side = this.side(level);
    const [x, y] = this.toMap(place).map((v) => Math.round(v / side));
    return [level, x, y];
  }
  pixelPlace([level, x, y]) { const side = this.side(level); return [x * side, y * side]; }

  /** The finest value known at a place of the screen. */
  valueAt(place) { return this.lookAt(place)?.value ?? null; }

  /** The same with the number of its class, if there are classes, and whether it is the value of the pixel of the present level there. */
  lookAt(place) {
    const at = this.toMap(place);
    let best = null;
    // Tiles of the present map come before others, and then those whose detail is nearest to that of the screen.
    const off = (tile, fineness) => Math.abs(Math.log2(fineness * this.scale)) + (tile.exact === this.exact ? 0 : 100);
    for (const tile of this.tiles.values()) {
      if (tile.family !== this.family) continue;
      const side = this.side(tile.level), [u, v] = [at[0] / side - tile.x, at[1] / side - tile.y];
      const n = tile.pixels, [column, row] = [Math.round(u * n), Math.round(v * n)];
      if (column < 0 || row < 0 || column >= n || row >= n) continue;
      const fineness = n / side;
      if (!best || off(tile, fineness) < best.off) {
        const k = row * n + column, raw = tile.values[k];
        best = { off: off(tile, fineness), value: tile.from === null ? raw : tile.from - raw, class: tile.values.classes?.[k],
          exact: tile.exact === this.exact && tile.level === this.level && n === TILE };
      }
    }
    return best;
  }

  /** The values of all pixels of the present level on the screen, from the lowest row up: as `[class, value]` where there are classes, and NaN where
   * a pixel is not computed yet; with the places of the first and the last pixel. */
  grid() {
    const level = this.level, pixel = this.side(level + DEPTH), [a, b] = [this.toMap([0, this.height]), this.toMap([this.width, 0])];
    const low = a.map((v) => Math.ceil(v / pixel)), high = b.map((v) => Math.floor(v / pixel)), [columns, rows] = high.map((v, k) => Math.max(0, v - low[k] + 1));
    const classes = !!this.colours.classes, each = classes ? 2 : 1, values = new Float64Array(columns * rows * each).fill(NaN);
    for (let j = 0; j < rows; j += 1) for (let i = 0; i < columns; i += 1) {
      const at = [low[0] + i, low[1] + j], [x, y] = at.map((v) => Math.floor(v / TILE)), tile = this.tiles.get(this.key(this.exact, level, x, y));
      if (tile?.pixels !== TILE) continue;
      const k = (at[1] - y * TILE) * TILE + at[0] - x * TILE, to = (j * columns + i) * each;
      if (classes) values[to] = tile.values.classes?.[k] ?? NaN;
      values[to + each - 1] = tile.values[k];
    }
    return { values, shape: classes ? [rows, columns, 2] : [rows, columns], first: low.map((v) => v * pixel), last: high.map((v) => v * pixel) };
  }

  /** Tiles of a level that the screen shows, the nearest to its centre first; `margin` of them around it. */
  onScreen(level, margin = 0) {
    // The pixels of a tile begin half a pixel before it.
    const side = this.side(level), half = side / TILE / 2, [a, b] = [this.toMap([0, this.height]), this.toMap([this.width, 0])].map((corner) => corner.map((v) => v + half));
    const [x0, y0] = a.map((v) => Math.floor(v / side) - margin), [x1, y1] = b.map((v) => Math.ceil(v / side) - 1 + margin);
    const found = [], [cx, cy] = this.center.map((v) => (v + half) / side - 0.5);
    for (let y = y0; y <= Math.max(y0, y1); y += 1) for (let x = x0; x <= Math.max(x0, x1); x += 1) found.push({ level, x, y, far: (x - cx) ** 2 + (y - cy) ** 2 });
    const bounds = this.hooks.bounds(), inside = (k, { low, high, above }) => (above ? k * side > low : k * side >= low) && (k + 1) * side <= high;
    return found.filter((t) => inside(t.x, bounds[0]) && inside(t.y, bounds[1]) && !this.failed.has(this.key(this.exact, level, t.x, t.y))).sort((p, q) => p.far - q.far).slice(0, 1200);
  }

  key(exact, level, x, y) { return `${level}/${x}/${y}/${exact}`; }

  refresh() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.plan(); this.draw(); });
  }

  // Requests

  giveUp(unwanted) {
    for (const request of this.requests) if (unwanted(request)) { this.requests.delete(request); request.abort.abort(); }
  }

  plan() {
    if (!this.family) return;
    // While it is not known whether the server takes the parameters, the last picture stays.
    if (this.frozen) { this.hooks.idle({ busy: false, done: 1, level: this.level }); return; }
    const { level, ladder } = this;
    const shown = this.onScreen(level);
    const visible = new Set(shown.map((t) => this.key(this.exact, level, t.x, t.y)));
    const ring = this.onScreen(level, 1).filter((t) => !visible.has(this.key(this.exact, level, t.x, t.y)));
    const near = new Set([...visible, ...ring.map((t) => this.key(this.exact, level, t.x, t.y))]);
    this.giveUp((r) => r.exact !== this.exact || r.keys.every((key) => !(r.ahead ? near : visible).has(key)));
    const flying = new Set();
    for (const r of this.requests) for (const key of r.keys) flying.add(key);
    const missing = (tiles, pixels) => tiles.filter((t) => {
      const key = this.key(this.exact, level, t.x, t.y);
      return !flying.has(key) && !((this.tiles.get(key)?.pixels ?? 0) >= pixels);
    });
    let busy = this.requests.size > 0;
    for (const pixels of ladder) {
      // A finer level begins when the previous one is complete.
      let wanted = missing(shown, pixels);
      const waits = [...this.requests].some((r) => !r.ahead && r.pixels < pixels);
      while (wanted.length && !waits && this.requests.size < FLYING) {
        this.giveUp((r) => r.ahead);
        const group = wanted.splice(0, this.groupSize(level, pixels));
        group.forEach((t) => flying.add(this.key(this.exact, level, t.x, t.y)));
        this.ask(group, pixels, false);
        busy = true;
      }
      if (wanted.length || [...this.requests].some((r) => !r.ahead)) break;
    }
    if (!this.requests.size) {
      // While there is nothing else to do, prefetches the tiles that may be needed next; coarser ones on a CPU.
      const pixels = ladder[ladder.length - (this.about.map.gpu ? 1 : 2)];
      const wanted = missing(ring, pixels);
      if (wanted.length && !this.pressed) this.ask(wanted.slice(0, this.groupSize(level, pixels)), pixels, true);
    }
    const of = shown.length * ladder.length, done = shown.reduce((sum, t) => {
      const have = this.tiles.get(this.key(this.exact, level, t.x, t.y))?.pixels ?? 0;
      return sum + ladder.filter((n) => n <= have).length;
    }, 0);
    this.hooks.idle({ busy: [...this.requests].some((r) => !r.ahead) || (busy && done < of), done: done / of, level });
  }

  groupSize(level, pixels) {
    const cost = pixels * pixels * this.hooks.steps();
    return Math.max(1, Math.min(64, Math.round((GROUP_SECONDS[this.about.map.gpu ? "gpu" : "cpu"] * this.rate) / cost)));
  }

  async ask(group, pixels, ahead) {
    const { family, exact } = this, level = group[0].level;
    const request = { exact, pixels, ahead, keys: group.map((t) => this.key(exact, level, t.x, t.y)), abort: new AbortController() };
    this.requests.add(request);
    const from = this.hooks.from(), work = group.length * pixels * pixels * this.hooks.steps(), began = performance.now();
    try {
      const body = { specification: this.hooks.specification(), tiles: group.map((t) => [level, t.x, t.y, pixels]), ahead };
      for await (const { index, values } of api.tiles(body, request.abort.signal)) {
        const { x, y } = group[index], key = request.keys[index];
        request.keys[index] = null;
        if (!((this.tiles.get(key)?.pixels ?? 0) > pixels)) this.tiles.set(key, { family, exact, level, x, y, pixels, values, from, used: (this.clock += 1) });
        this.dirty = true;
        this.refresh();
      }
      const seconds = (performance.now() - began) / 1000;
      if (seconds > 0.02) this.rate = 0.7 * this.rate + (0.3 * work) / seconds;
    } catch (error) {
      if (error.name !== "AbortError") {
        // The same request would fail again.
        if (error.status === 422) request.keys.forEach((key) => key && this.failed.add(key));
        this.hooks.failed(error); this.requests.delete(request); return;
      }
    }
    this.requests.delete(request);
    this.refresh();
  }

  // Drawing

  /** Tiles of this family that the screen shows, coarse ones first. */
  drawn() {
    const found = [];
    for (const [key, tile] of this.tiles) {
      if (tile.family !== this.family) continue;
      const side = this.side(tile.level), half = side / tile.pixels / 2, length = side / this.scale;
      const [left, top] = this.toScreen([tile.x * side - half, (tile.y + 1) * side - half]);
      if (left < this.width && top < this.height && left + length > 0 && top + length > 0 && length < 1e6) found.push({ key, tile, left, top, length });
    }
    // Tiles of the present map and level are drawn last, whatever their detail.
    const off = (t) => Math.abs(t.level - this.level) * (t.level > this.level ? 1.01 : 1) + (t.exact === this.exact ? 0 : 0.5);
    return found.sort((p, q) => off(q.tile) - off(p.tile) || p.tile.pixels - q.tile.pixels);
  }

  draw() {
    const { context, ratio } = this, drawn = this.drawn();
    this.recolour(drawn);
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--ground");
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const draw = ({ tile, left, top, length }) => {
      tile.used = this.clock += 1;
      this.paint(tile);
      // Edges are at whole pixels, so that neighbours neither overlap nor leave gaps.
      const [x, y] = [left, top].map((v) => Math.round(v * ratio)), [x2, y2] = [left, top].map((v) => Math.round((v + length) * ratio));
      const texel = (length * ratio) / tile.pixels;
      // Between classes there is nothing.
      context.imageSmoothingEnabled = !tile.values.classes && Math.abs(texel - 1) > 0.001 && (texel < 3 || tile.pixels < TILE);
      context.imageSmoothingQuality = "high";
      context.drawImage(tile.image, x, y, x2 - x, y2 - y);
    };
    const shown = this.uncovered(drawn);
    // A coarse tile reaches farther before its first place than a fine one. Drawn where a fine one would be, it fills what it leaves free at its end.
    for (const { tile, left, top, length } of shown.filter(({ tile }) => tile.pixels < TILE)) {
      const off = length / 2 / tile.pixels - length / 2 / TILE;
      draw({ tile, left: left + off, top: top - off, length });
    }
    shown.forEach(draw);
    this.evict();
    this.hooks.changed();
  }

  /** Without the tiles that those of the present level hide. */
  uncovered(drawn) {
    const { level } = this, whole = this.onScreen(level).every((t) => this.tiles.has(this.key(this.exact, level, t.x, t.y)));
    return whole ? drawn.filter((d) => d.tile.level === level && d.tile.exact === this.exact) : drawn;
  }

  paint(tile) {
    if (tile.version === this.colours.version) return;
    tile.image ??= Object.assign(document.createElement("canvas"), { width: tile.pixels, height: tile.pixels });
    tile.data ??= tile.image.getContext("2d").createImageData(tile.pixels, tile.pixels);
    this.colours.paint(tile.values, tile.from, tile.pixels, new Uint32Array(tile.data.data.buffer));
    tile.image.getContext("2d").putImageData(tile.data, 0, 0);
    tile.data = null;
    tile.version = this.colours.version;
  }

  /** Finite shown values of what is on the screen, sorted. */
  sample(drawn) {
    const tiles = drawn.filter((d) => d.tile.level === this.level && d.tile.exact === this.exact);
    const use = tiles.length ? tiles : drawn, each = Math.max(16, Math.floor(SAMPLE / Math.max(1, use.length)));
    const out = [];
    for (const { tile, left, top, length } of use) {
      const n = tile.pixels, stride = Math.max(1, Math.floor(Math.sqrt((n * n) / each)));
      for (let j = stride >> 1; j < n; j += stride) for (let i = stride >> 1; i < n; i += stride) {
        const [x, y] = [left + (length * (i + 0.5)) / n, top + (length * (n - j - 0.5)) / n];
        if (x < 0 || y < 0 || x > this.width || y > this.height) continue;
        // Classes of one colour have no time that counts.
        if (tile.values.classes && this.colours.classes?.[tile.values.classes[j * n + i]]?.flat) continue;
        const raw = tile.values[j * n + i], shown = tile.from === null ? raw : tile.from - raw;
        if (Number.isFinite(shown)) out.push(shown);
      }
    }
    return Float64Array.from(out).sort();
  }

  recolour(drawn, force = false) {
    const now = performance.now();
    // The colours are not updated with every tile that arrives, because they would flicker.
    if (!force && !this.stale && !(this.dirty && now - (this.coloured ?? 0) > 140) && this.colours.key) {
      if (this.dirty && !this.later) this.later = setTimeout(() => { this.later = 0; this.refresh(); }, 150);
      return;
    }
    [this.dirty, this.stale, this.coloured] = [false, false, now];
    this.values = this.sample(drawn);
    // Values of classes need colours even where none of them has a time that counts.
    const colouring = this.hooks.colouring();
    // A second map has the colours of the first.
    if (!colouring) return;
    if (drawn.length) { this.colours.set(colouring, this.values); this.hooks.coloured(); } else this.stale = true;
  }

  evict() {
    if (this.tiles.size <= KEPT) return;
    const oldest = [...this.tiles].sort((p, q) => p[1].used - q[1].used).slice(0, this.tiles.size - KEPT);
    oldest.forEach(([key]) => this.tiles.delete(key));
  }

  /** Whether 64-bit numbers tell neighbouring pixels apart. */
  get atLimit() { return this.level === Math.max(0, this.hooks.deepest() - DEPTH) || this.side(this.level + DEPTH) < Math.max(...this.center.map(ulp)); }
}
