// The quantity along a line of the map.

import * as api from "./api.js";
import { brief, lines, style } from "./plot.js";

export class LineCard {
  constructor(root, hooks) {
    this.root = root; this.hooks = hooks;
    root.innerHTML = `
      <header><h2>Along the line</h2><span class="note" id="line-note"></span><button class="icon" id="line-close" aria-label="Close the line" title="Close (Esc)"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 6l12 12M18 6 6 18"/></svg></button></header>
      <canvas class="profile" id="line-plot" role="img" aria-label="Quantity along the line"></canvas>
      <p class="note" id="line-value" aria-live="off"></p>`;
    root.querySelector("#line-close").onclick = () => this.close();
    this.plot = root.querySelector("#line-plot");
    this.plot.onpointermove = (e) => this.read(e.offsetX);
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  /** `tell`: from values of the server to the numbers that the label names; `factors`: units of the axes. */
  async show(specification, tell, ends, count, label, factors) {
    this.abort?.abort();
    this.abort = new AbortController();
    this.root.hidden = false;
    this.root.dataset.state = "loading";
    const note = this.root.querySelector("#line-note");
    note.textContent = "computing…";
    try {
      const values = await api.line({ specification, from: ends.slice(0, 2), to: ends.slice(2), count }, this.abort.signal);
      this.shown = Array.from(values, tell);
      this.length = Math.hypot(ends[2] - ends[0], ends[3] - ends[1]);
      [this.ends, this.label, this.factors] = [ends, label, factors];
      note.textContent = `${count} points`;
      this.root.dataset.state = "ready";
      this.plot.setAttribute("aria-label", `${label} along the line: from ${brief(Math.min(...this.shown))} to ${brief(Math.max(...this.shown))}`);
      this.draw();
    } catch (error) {
      if (error.name === "AbortError") return;
      note.textContent = error.message;
      this.root.dataset.state = "failed";
    }
  }

  draw() {
    if (!this.shown || this.root.hidden) return;
    const x = this.shown.map((_, k) => (k / (this.shown.length - 1)) * this.length);
    this.axes = lines(this.plot, { label: this.label, xLabel: "distance along the line (length)", from: 0, to: this.length, series: [{ color: style("--body-1"), x, y: this.shown }] });
  }

  read(px) {
    if (!this.shown) return;
    const t = Math.max(0, Math.min(1, this.axes.toX(px) / this.length)), k = Math.round(t * (this.shown.length - 1));
    const [x0, y0, x1, y1] = this.ends.map((v, k) => v * this.factors[k % 2]);
    this.root.querySelector("#line-value").textContent = `${brief(this.shown[k], 7)} at (${brief(x0 + (x1 - x0) * t, 6)}, ${brief(y0 + (y1 - y0) * t, 6)})`;
  }

  close() { this.abort?.abort(); this.shown = null; this.root.hidden = true; this.hooks.closed(); }
}
