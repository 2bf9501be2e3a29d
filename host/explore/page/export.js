// The texts and files that users can save: a command, a specification, a picture with axes.

import { digits, ticks } from "./plot.js";

export async function copy(text) {
  try { await navigator.clipboard.writeText(text); return; } catch { /* Without the permission, or away from localhost, the old way. */ }
  const field = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("The browser does not let the page copy.");
}

export function save(name, blob) {
  const link = Object.assign(document.createElement("a"), { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** An array of 64-bit numbers as a file for numpy.load. */
export function npy(values, shape) {
  const text = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(", ")}), }`, length = Math.ceil((text.length + 11) / 64) * 64 - 10;
  const head = new Uint8Array(10 + length).fill(32);
  head.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 255, length >> 8]);
  head.set(new TextEncoder().encode(text), 10);
  head[head.length - 1] = 10;
  return new Blob([head, values.buffer]);
}

/** Places of an axis that are far from 0 for their distance are told as differences from a round number near the middle. */
export function axis(low, high, count) {
  const step = (high - low) / count, middle = (low + high) / 2;
  if (Math.abs(middle) < 1e6 * step) { const at = ticks(low, high, count), d = at[1] - at[0] || 1; return { base: null, at, text: at.map((x) => digits(x, d)) }; }
  const places = Math.max(0, Math.min(15, Math.ceil(-Math.log10(high - low)) + 1)), base = Number(middle.toFixed(places));
  const at = ticks(low - base, high - base, count), d = at[1] - at[0] || 1;
  return { base, at: at.map((x) => base + x), text: at.map((x) => digits(x, d)) };
}

/** A picture of the view with axes and a colour bar. */
export function picture(map, colours, labels, [method, command], { factors, origin, tell, untell }) {
  const w = map.canvas.width, h = map.canvas.height, unit = Math.max(1, Math.min(w, h) / 700);
  const pad = { left: 92 * unit, right: 132 * unit, top: 30 * unit, bottom: 84 * unit };
  const canvas = Object.assign(document.createElement("canvas"), { width: w + pad.left + pad.right, height: h + pad.top + pad.bottom }), c = canvas.getContext("2d");
  const [ground, ink, soft] = ["#0d0c13", "#f2eff7", "#b3adc2"], font = (size) => `${size * unit}px system-ui, "Segoe UI", "DejaVu Sans", sans-serif`;
  c.fillStyle = ground; c.fillRect(0, 0, canvas.width, canvas.height);
  c.drawImage(map.canvas, pad.left, pad.top);
  c.strokeStyle = soft; c.lineWidth = unit; c.strokeRect(pad.left - 0.5, pad.top - 0.5, w + 1, h + 1);
  const [a, b] = [map.toMap([0, 0]), map.toMap([map.width, map.height])].map((corner) => corner.map((x, k) => x * factors[k]));
  c.fillStyle = ink; c.font = font(13);
  const along = [axis(a[0], b[0], 7), axis(b[1], a[1], 6)];
  along[0].at.forEach((x, k) => {
    const px = pad.left + ((x - a[0]) / (b[0] - a[0])) * w;
    c.beginPath(); c.moveTo(px, pad.top + h); c.lineTo(px, pad.top + h + 5 * unit); c.stroke();
    c.textAlign = "center"; c.textBaseline = "top"; c.fillText(along[0].text[k], px, pad.top + h + 8 * unit);
  });
  along[1].at.forEach((y, k) => {
    const py = pad.top + ((y - a[1]) / (b[1] - a[1])) * h;
    c.beginPath(); c.moveTo(pad.left, py); c.lineTo(pad.left - 5 * unit, py); c.stroke();
    c.textAlign = "right"; c.textBaseline = "middle"; c.fillText(along[1].text[k], pad.left - 9 * unit, py);
  });
  const named = (k) => [labels[["x", "y"][k]], origin?.[k], along[k].base].filter((part) => part !== null && part !== undefined).join(", less ");
  c.font = font(14); c.textAlign = "center"; c.textBaseline = "alphabetic";
  c.fillText(named(0), pad.left + w / 2, pad.top + h + 48 * unit);
  const upright = (text, x) => { c.save(); c.translate(x, pad.top + h / 2); c.rotate(-Math.PI / 2); c.fillText(text, 0, 0); c.restore(); };
  upright(named(1), 22 * unit);
  if (method) { c.font = font(13); c.textAlign = "left"; c.textBaseline = "middle"; c.fillText(method, pad.left, 15 * unit); }
  // The names of the classes, if there are any.
  if (colours.classes) {
    c.font = font(13); c.textAlign = "left"; c.textBaseline = "middle";
    let x = pad.left;
    for (const { name, colour } of colours.classes.slice(0, 6)) {
      c.fillStyle = `#${colour.toString(16).padStart(6, "0")}`; c.fillRect(x, 9 * unit, 12 * unit, 12 * unit);
      c.fillStyle = ink; c.fillText(name, x + 17 * unit, 15 * unit);
      x += c.measureText(name).width + 34 * unit;
    }
  }
  // The colour bar.
  const bar = { x: pad.left + w + 20 * unit, width: 20 * unit };
  for (let y = 0; y < h; y += 1) { c.fillStyle = colours.css(colours.high - (y / h) * (colours.high - colours.low)); c.fillRect(bar.x, pad.top + y, bar.width, 1.5); }
  c.strokeRect(bar.x, pad.top, bar.width, h);
  c.fillStyle = ink; c.font = font(13); c.textAlign = "left"; c.textBaseline = "middle";
  const levels = ticks(...[colours.low, colours.high].map(tell).sort((p, q) => p - q), 6);
  levels.forEach((v) => {
    const y = pad.top + (1 - (untell(v) - colours.low) / (colours.high - colours.low || 1)) * h;
    c.fillText(digits(v, levels[1] - levels[0] || 1), bar.x + bar.width + 7 * unit, y);
  });
  c.font = font(14); c.textAlign = "center"; c.textBaseline = "alphabetic";
  upright(labels.value, canvas.width - 12 * unit);
  c.font = font(11.5); c.fillStyle = soft; c.textAlign = "left";
  c.fillText(command, pad.left, canvas.height - 12 * unit, w + pad.right - 20 * unit);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}
