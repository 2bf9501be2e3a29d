// Shows the orbit of a pixel as numbers over time, such as the elements of planets or the state of equations.

import { CLOSE, Card } from "./card.js";
import { bodyColours, column } from "./player.js";
import { brief, lines } from "./plot.js";

/** The colours of `count` lines: those of bodies, and others between them. */
function colours(count) {
  const own = bodyColours();
  return Array.from({ length: count }, (_, k) => own[k] ?? `hsl(${(k * 137) % 360} 55% 58%)`);
}

export class SeriesCard extends Card {
  samples = 2000;

  constructor(root, hooks) {
    super(root, hooks, `
      <header><h2 id="series-title">Orbit</h2><span class="note" id="series-place"></span><button class="icon" id="series-close" aria-label="Close the orbit" title="Close (Esc)">${CLOSE}</button></header>
      <div id="series-plots"></div>
      <p class="note" id="series-now"></p>
      <dl id="series-values"></dl>`);
    new ResizeObserver(() => this.draw()).observe(root);
  }

  take(orbit) {
    const { summary } = orbit;
    this.$("title").textContent = summary.title ?? "Orbit";
    this.list(this.$("values"), Object.entries(summary.record).map(([name, value]) => [name.replaceAll("_", " "), value]));
    this.times = column(orbit, orbit.columns[0]);
    this.at = this.times.length - 1;
    this.plots = summary.plots.map(({ label, columns }) => {
      const shades = colours(columns.length);
      const series = columns.map((name, k) => ({ name, color: shades[k], x: this.times, y: column(orbit, name) }));
      const canvas = Object.assign(document.createElement("canvas"), { className: "trace" });
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${label} over ${summary.over}`);
      canvas.onpointermove = (e) => this.look(e.offsetX);
      return { label, series, canvas };
    });
    this.$("plots").replaceChildren(...this.plots.map(({ canvas }) => canvas));
    this.draw();
  }

  /** Tells the numbers at a place of the plots. */
  look(px) {
    const time = this.toX(px), after = this.times.findIndex((t) => t >= time);
    this.at = after < 0 ? this.times.length - 1 : after;
    this.draw();
  }

  draw() {
    if (!this.orbit || this.root.hidden) return;
    const { times, at } = this, last = times[times.length - 1] || 1;
    this.plots.forEach(({ canvas, label, series }, k) => {
      const xLabel = k === this.plots.length - 1 ? this.orbit.summary.over : "";
      ({ toX: this.toX } = lines(canvas, { label, series, from: times[0], to: last, mark: times[at], xLabel }));
    });
    const named = this.plots.flatMap(({ series }) => series.map(({ name, color, y }) => {
      const made = Object.assign(document.createElement("span"), { textContent: ` ${name} ${brief(y[at], 5)} ` });
      made.style.color = color;
      return made;
    }));
    this.$("now").replaceChildren(`${this.orbit.columns[0]} ${brief(times[at], 6)}: `, ...named);
  }
}
