// Turns values into colours: range, scale, palette. The values stay as the server sent them.

const BINS = 4096;

/** Colours of values: `of(values, from)` gives pixels for ImageData, `from` being what values are subtracted from (or null). */
export class Colours {
  constructor(palettes) { this.palettes = new Map(palettes.map((p) => [p.name, p])); this.table = new Uint32Array(BINS + 1); this.low = 0; this.high = 1; this.version = 0; }

  /** `sample`: finite shown values, sorted, of what is on the screen. */
  set({ colour, scale, reverse, low, high }, sample) {
    const palette = this.palettes.get(colour) ?? this.palettes.values().next().value;
    const first = low ?? sample[0] ?? 0, last = high ?? sample[sample.length - 1] ?? 1;
    const rank = scale === "equal" ? ranks(sample, first, last) : null;
    const key = JSON.stringify([palette.name, scale, reverse, first, last, rank && Array.from(rank.filter((_, k) => k % 64 === 0))]);
    if (key === this.key) return false;
    this.key = key;
    this.version += 1;
    [this.low, this.high, this.palette, this.scale] = [first, last, palette, scale];
    const width = last - first;
    const share = (t) => {
      if (rank) return rank[Math.round(t * (rank.length - 1))];
      return scale === "log" ? Math.log1p(t * Math.max(width, 1e-300)) / Math.log1p(Math.max(width, 1e-300)) : t;
    };
    const entry = (t) => { const k = Math.min(255, Math.floor(Math.max(0, Math.min(1, t)) * 256)); return palette.colours[reverse ? 255 - k : k]; };
    for (let bin = 0; bin <= BINS; bin += 1) this.table[bin] = abgr(entry(share(bin / BINS)));
    const [r, g, b] = palette.not_finite;
    this.notFinite = abgr((r << 16) | (g << 8) | b);
    return true;
  }

  paint(values, from, pixels) {
    const { table, low } = this, factor = this.high > low ? BINS / (this.high - low) : 0;
    for (let i = 0; i < values.length; i += 1) {
      const shown = from === null ? values[i] : from - values[i];
      const bin = (shown - low) * factor;
      pixels[i] = Number.isFinite(shown) ? table[bin <= 0 ? 0 : bin >= BINS ? BINS : bin | 0] : this.notFinite;
    }
  }

  css(value) {
    const t = this.high > this.low ? (value - this.low) / (this.high - this.low) : 0;
    const c = this.table[Math.max(0, Math.min(BINS, Math.round(t * BINS)))];
    return `rgb(${c & 255} ${(c >> 8) & 255} ${(c >> 16) & 255})`;
  }
}

const abgr = (rgb) => ((255 << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;

/** Share of the sample above its lowest value that lies below each of some levels: pixels at the bottom do not use up colours. */
function ranks(sample, low, high) {
  let begin = 0;
  while (begin < sample.length && sample[begin] <= low) begin += 1;
  const count = Math.max(1, sample.length - begin), out = new Float64Array(1025);
  let at = begin;
  for (let k = 0; k <= 1024; k += 1) {
    const level = low + ((high - low) * k) / 1024;
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
