// Shows the orbit of a pixel and of its twin, with figures.

import { CLOSE, Card } from "./card.js";
import { Player, bodyColours, column, elements, paths } from "./player.js";
import { brief, lines } from "./plot.js";

export class OrbitCard extends Card {
  samples = 4000;

  constructor(root, hooks) {
    super(root, hooks, `
      <header><h2>Orbit</h2><span class="note" id="orbit-place"></span><button class="icon" id="orbit-close" aria-label="Close the orbit" title="Close (Esc)">${CLOSE}</button></header>
      ${elements("orbit", "Orbits of the three bodies and of the twin system.")}
      <dl aria-live="off">
        <dt>Time</dt><dd id="orbit-now"></dd><dt>Separation</dt><dd id="orbit-separation"></dd>
        <dt>Part at</dt><dd id="orbit-part"></dd><dt>Energy error</dt><dd id="orbit-energy"></dd>
        <dt>Closest</dt><dd id="orbit-closest"></dd><dt>at time</dt><dd id="orbit-closest-time"></dd>
      </dl>
      <p class="warning" id="orbit-doubt" role="alert" hidden></p>
      <canvas class="trace" id="orbit-trace-1" role="img" aria-label="Separation of the twins over time"></canvas>
      <canvas class="trace" id="orbit-trace-2" role="img" aria-label="Energy error over time"></canvas>`);
    this.player = new Player(root, "orbit", (row) => this.figures(row));
  }

  get at() { return this.player.at; }
  take(orbit) {
    [this.times, this.separation, this.error, this.errorTwin] = ["time", "separation", "energy_error", "energy_error_twin"].map((name) => column(orbit, name));
    const { summary } = orbit;
    this.$("part").textContent = summary.parted === null ? "never" : `${brief(summary.parted, 6)} (${summary.together.toLocaleString("en")} steps)`;
    this.$("closest").textContent = `${brief(summary.closest.distance)} (${summary.closest.bodies.join("–")})`;
    this.$("closest-time").textContent = brief(summary.closest.time, 6);
    this.doubt(summary);
    this.player.take({
      systems: [paths(orbit), paths(orbit, "_twin")], masses: summary.masses, times: this.times,
      trail: Math.max(60, Math.floor(orbit.rows / 6)), notes: ["dashed: the twin"],
    });
  }

  /** Says that the orbit is an effect of the step where the energy error of the system or of its twin is large from some time on. (The error of a
   * symplectic integrator also rises while two bodies are close to each other, and falls again.) */
  doubt({ parted }) {
    const { limit } = this.hooks, last = this.times.length - 1, large = (e) => !(Math.abs(e) <= limit);
    const begins = [this.error, this.errorTwin].map((errors) => { let row = last + 1; while (row > 0 && large(errors[row - 1])) row -= 1; return row; });
    const row = Math.min(...begins) > last ? -1 : Math.min(...begins);
    const worst = Math.max(...[this.error, this.errorTwin].map((errors) => errors.slice(Math.max(0, row)).reduce((most, e) => (Number.isNaN(e) ? Infinity : Math.max(most, Math.abs(e))), 0)));
    this.root.dataset.doubt = String(row >= 0);
    this.$("energy").classList.toggle("bad", row >= 0);
    this.$("doubt").hidden = row < 0;
    if (row < 0) return;
    const value = parted === null || this.times[row] < parted ? "this orbit and the value of the pixel are effects of the step" : "this orbit is an effect of the step after the twins have parted";
    this.$("doubt").textContent = `From time ${brief(this.times[row], 4)} on the energy error stays above ${limit}, at most ${Number.isFinite(worst) ? brief(worst, 3) : "without bound"}: ${value}. Use a smaller step or another integrator.`;
  }

  figures(row) {
    const COLOURS = bodyColours(), end = this.times[this.times.length - 1] || 1, mark = this.times[row], x = this.times;
    this.$("now").textContent = brief(mark, 5);
    this.$("separation").textContent = brief(this.separation[row]);
    this.$("energy").textContent = brief(this.error[row], 3);
    lines(this.$("trace-1"), { label: "separation of the twins (length)", log: true, from: 0, to: end, mark, series: [{ color: COLOURS[0], x, y: this.separation }] });
    lines(this.$("trace-2"), { label: "energy error, and the twin's", log: true, from: 0, to: end, mark, series: [
      { color: COLOURS[2], x, y: this.errorTwin, dash: [3, 3] }, { color: COLOURS[1], x, y: this.error }] });
  }
}
