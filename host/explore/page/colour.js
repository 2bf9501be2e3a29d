// Turns values into colours: range, scale, palette. The values stay as the server sent them.

const BINS = 4096;
const DARKEST = 0.18; // Brightness of the highest value of a class.

/** Colours of values: `of(values, from)` gives pixels for ImageData, `from` being what values are subtracted from (or null). */
export class Colours {
  /** Classes `{ name, colour }`, if the map has them: their colours take the place of the palette, and values set the brightness. */
  classes = null;
  /** The share of the values at either end that the range leaves out. */
  clipped = 0;
  /** The range that the quantity has by itself, if it has one. */
  range = null;

  constructor(palettes) { this.palettes = new Map(palettes.map((p) => [p.name, p])); this.table = new Uint32Array(BINS + 1); this.low = 0; this.high = 1; this.version = 0; }

  /** `sample`: finite shown values, sorted, of what is on the screen. */
  set({ colour, scale, reverse, low, high }, sample) {
    const palette = this.palettes.get(colour) ?? this.palettes.values().next().value;
    // Some values may be far away: as in the pictures of the program, a share of them at either end does not count.
    const beyond = Math.floor(sample.length * (this.classes ? 0.01 : this.clipped));
    const { range } = this, first = low ?? range?.[0] ?? sample[beyond] ?? 0, last = high ?? range?.[1] ?? sample[sample.length - 1 - beyond] ?? 1;
    // A logarithm begins at the least value above 0. Equalised values that span several powers of ten also need levels in equal ratios.
    const floor = first > 0 ? first : sample.find((v) => v > 0) ?? 1, equal = scale === "equal";
    const logarithmic = last > floor && (scale === "log" || (equal && first > 0 && last > 100 * first));
    this.logarithm = logarithmic ? { floor, factor: 1 / Math.log(last / floor) } : null;
    [this.low, this.high] = [first, last];
    const rank = equal ? ranks(sample, first, (t) => this.valueAt(t)) : null;
    const { classes } = this;
    const key = JSON.stringify([classes?.map(({ colour }) => colour) ?? palette.name, scale, reverse, first, last, logarithmic && floor, rank && Array.from(rank.filter((_, k) => k % 64 === 0))]);
    if (key === this.key) return false;
    this.key = key;
    this.version += 1;
    [this.palette, this.scale] = [palette, scale];
    const share = (t) => (rank ? rank[Math.round(t * (rank.length - 1))] : t);
    const entry = (t) => { const k = Math.min(255, Math.floor(Math.max(0, Math.min(1, t)) * 256)); return palette.colours[reverse ? 255 - k : k]; };
    for (let bin = 0; bin <= BINS; bin += 1) this.table[bin] = abgr(entry(share(bin / BINS)));
    if (classes) {
      // The lowest values are the brightest.
      const grey = (t) => { const d = reverse ? 1 - t : t; return 1 - (1 - DARKEST) * Math.max(0, Math.min(1, d)); };
      const shaded = (rgb, light) => abgr([16, 8, 0].reduce((sum, by) => sum | (Math.round(((rgb >> by) & 255) * light) << by), 0));
      this.shades = classes.map(({ colour, flat }) => Uint32Array.from({ length: BINS + 1 }, (_, bin) => shaded(colour, flat ? 1 : grey(share(bin / BINS)))));
      this.table = Uint32Array.from({ length: BINS + 1 }, (_, bin) => shaded(0xffffff, grey(share(bin / BINS))));
    }
    const [r, g, b] = palette.not_finite;
    this.notFinite = abgr((r << 16) | (g << 8) | b);
    return true;
  }

  /** The place of a value between the ends of the range, from 0 to 1. */
  position(value) {
    const { low, high, logarithm } = this;
    if (logarithm) return value > logarithm.floor ? Math.log(value / logarithm.floor) * logarithm.factor : 0;
    return high > low ? (value - low) / (high - low) : 0;
  }

  /** The value at a place. */
  valueAt(t) {
    const { low, high, logarithm } = this;
    return logarithm ? logarithm.floor * Math.exp(t / logarithm.factor) : low + (high - low) * t;
  }

  /** Paints a square of values `width` wide, its last row on top, because y grows upwards. */
  paint(values, from, width, pixels) {
    const { classes: of } = values, { shades } = this, last = width * (width - 1);
    for (let i = 0; i < values.length; i += 1) {
      const shown = from === null ? values[i] : from - values[i];
      const bin = this.position(shown) * BINS;
      const table = of ? shades[of[i]] : this.table;
      const column = i % width;
      pixels[last - (i - column) + column] = Number.isFinite(shown) || (of && this.classes[of[i]].flat) ? table[bin > 0 ? (bin >= BINS ? BINS : bin | 0) : 0] : this.notFinite;
    }
  }

  css(value) { return this.cssAt(this.position(value)); }

  cssAt(t) {
    const c = this.table[Math.max(0, Math.min(BINS, Math.round(t * BINS)))];
    return `rgb(${c & 255} ${(c >> 8) & 255} ${(c >> 16) & 255})`;
  }
}

const abgr = (rgb) => ((255 << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;

/** Share of the sample above its lowest value that lies below each of some levels: pixels at the bottom do not use up colours. */
function ranks(sample, low, valueAt) {
  let begin = 0;
  while (begin < sample.length && sample[begin] <= low) begin += 1;
  const count = Math.max(1, sample.length - begin), out = new Float64Array(1025);
  let at = begin;
  for (let k = 0; k <= 1024; k += 1) {
    const level = valueAt(k / 1024);
    while (at < sample.length && sample[at] <= level) at += 1;
    out[k] = k === 0 ? 0 : (at - begin) / count;
  }
  return out;
}

/** Draws a palette into a canvas. */
export function swatch(canvas, palette, reverse = false) {
  canvas.width = 256; canvas.height = 1;
  const context = canvas.getContext("2d"), image = context.createImageData(256, 1);
  const pixels = new Uint32Array(image.data.buffer);
  palette.colours.forEach((rgb, k) => { pixels[reverse ? 255 - k : k] = abgr(rgb); });
  context.putImageData(image, 0, 0);
}
