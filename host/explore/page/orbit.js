// Shows the orbit of a pixel and of its twin, with figures.

import * as api from "./api.js";
import { CLOSE, COLOURS, Player, column, elements, paths } from "./player.js";
import { brief, lines } from "./plot.js";

const SAMPLES = 4000;

export class OrbitCard {
  constructor(root, hooks) {
    this.root = root; this.hooks = hooks;
    root.innerHTML = `
      <header><h2>Orbit</h2><span class="note" id="orbit-place"></span><button class="icon" id="orbit-close" aria-label="Close the orbit" title="Close (Esc)">${CLOSE}</button></header>
      ${elements("orbit", "Orbits of the three bodies and of the twin system.")}
      <dl aria-live="off">
        <dt>Time</dt><dd id="orbit-now"></dd><dt>Separation</dt><dd id="orbit-separation"></dd>
        <dt>Part at</dt><dd id="orbit-part"></dd><dt>Energy error</dt><dd id="orbit-energy"></dd>
        <dt>Closest</dt><dd id="orbit-closest"></dd><dt>at time</dt><dd id="orbit-closest-time"></dd>
      </dl>
      <canvas class="trace" id="orbit-trace-1" role="img" aria-label="Separation of the twins over time"></canvas>
      <canvas class="trace" id="orbit-trace-2" role="img" aria-label="Energy error over time"></canvas>`;
    this.$ = (id) => root.querySelector(`#orbit-${id}`);
    this.player = new Player(root, "orbit", (row) => this.figures(row));
    this.$("close").onclick = () => this.close();
  }

  get at() { return this.player.at; }
  draw() { this.player.draw(); }

  async show(specification, tile, label) {
    this.abort?.abort();
    this.abort = new AbortController();
    this.root.hidden = false;
    this.root.dataset.state = "loading";
    this.$("place").textContent = "integrating…";
    try {
      const orbit = await api.orbit({ specification, tile: [...tile, 1], samples: SAMPLES }, this.abort.signal);
      this.take(orbit, label);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.$("place").textContent = error.message;
      this.root.dataset.state = "failed";
    }
  }

  take(orbit, label) {
    this.orbit = orbit;
    [this.times, this.separation, this.error, this.errorTwin] = ["time", "separation", "energy_error", "energy_error_twin"].map((name) => column(orbit, name));
    const { summary } = orbit;
    this.$("place").textContent = label;
    this.$("part").textContent = summary.parted === null ? "never" : `${brief(summary.parted, 6)} (${summary.together.toLocaleString("en")} steps)`;
    this.$("closest").textContent = `${brief(summary.closest.distance)} (${summary.closest.bodies.join("–")})`;
    this.$("closest-time").textContent = brief(summary.closest.time, 6);
    this.root.dataset.state = "ready";
    this.player.take({
      systems: [paths(orbit), paths(orbit, "_twin")], masses: summary.masses, times: this.times,
      trail: Math.max(60, Math.floor(orbit.rows / 6)), notes: ["dashed: the twin"],
    });
  }

  hide() {
    this.abort?.abort();
    this.player.stop();
    this.orbit = null;
    this.root.hidden = true;
  }

  close() { this.hide(); this.hooks.closed(); }

  figures(row) {
    const end = this.times[this.times.length - 1] || 1, mark = this.times[row], x = this.times;
    this.$("now").textContent = brief(mark, 5);
    this.$("separation").textContent = brief(this.separation[row]);
    this.$("energy").textContent = brief(this.error[row], 3);
    lines(this.$("trace-1"), { label: "separation of the twins (length)", log: true, from: 0, to: end, mark, series: [{ color: COLOURS[0], x, y: this.separation }] });
    lines(this.$("trace-2"), { label: "energy error, and the twin's", log: true, from: 0, to: end, mark, series: [
      { color: COLOURS[2], x, y: this.errorTwin, dash: [3, 3] }, { color: COLOURS[1], x, y: this.error }] });
  }
}
