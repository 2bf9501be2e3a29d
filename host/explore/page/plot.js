// Small plots: axes with round numbers, lines on a canvas.

export const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A canvas whose pixels are the screen's: its context in CSS pixels, and its size. */
export function fit(canvas) {
  const ratio = devicePixelRatio || 1, { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/** Round numbers from `low` to `high`, about `count` of them. */
export function ticks(low, high, count = 5) {
  const raw = (high - low) / count;
  if (!(raw > 0) || !Number.isFinite(raw)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 2.5, 5, 10].find((m) => m * power >= raw) * power;
  const out = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9 && out.length < 50; k += 1) out.push(k * step);
  return out;
}

/** A number in as many digits as tell it from others that are `step` away. */
export function digits(x, step) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) {
    const places = Math.max(0, Math.min(15, Math.floor(Math.log10(size)) - Math.floor(Math.log10(step || size))));
    return x.toExponential(Math.min(places, 6)).replace("e+", "e").replace("-", "−").replace("e-", "e−");
  }
  const places = Math.max(0, Math.min(17, -Math.floor(Math.log10(step || size))));
  const text = places > 15 ? String(x) : x.toFixed(places);
  return text.replace("-", "−");
}

/** A number in few digits. */
export function brief(x, significant = 4) {
  if (!Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e6 || size < 1e-3 ? x.toExponential(significant - 2) : String(Number(x.toPrecision(significant)));
  return text.replace("e+", "e").replaceAll("-", "−");
}

/** Lines over a common axis. `series`: { color, x, y, dash }; `log` for powers of ten along y; `mark` for a position along x. */
export function lines(canvas, { series, label, log = false, mark = null, from, to, xLabel = "" }) {
  const { context: c, width, height } = fit(canvas);
  const pad = { left: 54, right: 8, top: 16, bottom: xLabel ? 30 : 16 };
  const value = (y) => (log ? Math.log10(Math.abs(y)) : y);
  let [low, high] = [Infinity, -Infinity];
  for (const { y } of series) for (const v of y) { const t = value(v); if (Number.isFinite(t)) { low = Math.min(low, t); high = Math.max(high, t); } }
  if (!(low <= high)) [low, high] = [0, 1];
  if (log) low = Math.max(low, high - 16);
  if (high - low < 1e-12 * Math.max(1, Math.abs(high))) [low, high] = [low - 0.5, high + 0.5];
  const sx = (x) => pad.left + ((x - from) / (to - from || 1)) * (width - pad.left - pad.right);
  const sy = (t) => height - pad.bottom - ((t - low) / (high - low)) * (height - pad.top - pad.bottom);
  c.font = `11px ${style("--sans") || "system-ui, sans-serif"}`;
  c.fillStyle = style("--soft");
  c.strokeStyle = style("--edge");
  c.lineWidth = 1;
  c.textAlign = "right"; c.textBaseline = "middle";
  const marks = ticks(low, high, Math.max(2, Math.floor(height / 40))).filter((t) => !log || Number.isInteger(t));
  for (const t of marks) {
    const y = Math.round(sy(t)) + 0.5;
    c.beginPath(); c.moveTo(pad.left, y); c.lineTo(width - pad.right, y); c.stroke();
    c.fillText(log ? brief(10 ** t, 3) : brief(t, 3), pad.left - 5, y);
  }
  c.textAlign = "center"; c.textBaseline = "top";
  const across = ticks(from, to, Math.max(2, Math.floor(width / 90)));
  for (const x of across) c.fillText(digits(x, across[1] - across[0] || 1), Math.min(width - 16, sx(x)), height - pad.bottom + 4);
  if (xLabel) c.fillText(xLabel, (width + pad.left) / 2, height - 12);
  c.textAlign = "left"; c.textBaseline = "alphabetic"; c.fillStyle = style("--text");
  c.fillText(label, pad.left, 11);
  c.save();
  c.beginPath(); c.rect(pad.left, pad.top - 2, width - pad.left - pad.right, height - pad.top - pad.bottom + 4); c.clip();
  for (const { color, x, y, dash = [] } of series) {
    c.strokeStyle = color; c.lineWidth = 1.5; c.setLineDash(dash);
    c.beginPath();
    // Only the extremes of each column are drawn, because the screen cannot show more points.
    const columns = Math.max(1, Math.floor(y.length / (2 * width)));
    let open = false;
    for (let k = 0; k < y.length; k += columns) {
      let [least, most] = [Infinity, -Infinity];
      for (let j = k; j < Math.min(y.length, k + columns); j += 1) { const t = value(y[j]); if (Number.isFinite(t)) { least = Math.min(least, t); most = Math.max(most, t); } }
      if (least > most) { open = false; continue; }
      const px = sx(x[k]);
      if (open) c.lineTo(px, sy(least)); else c.moveTo(px, sy(least));
      if (most !== least) c.lineTo(px, sy(most));
      open = true;
    }
    c.stroke();
  }
  c.setLineDash([]);
  if (mark !== null) { c.strokeStyle = style("--text"); c.lineWidth = 1; c.beginPath(); c.moveTo(sx(mark), pad.top); c.lineTo(sx(mark), height - pad.bottom); c.stroke(); }
  c.restore();
  return { toX: (px) => from + ((px - pad.left) / (width - pad.left - pad.right)) * (to - from) };
}
