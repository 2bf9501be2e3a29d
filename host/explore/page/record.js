// Shows what became of the encounter of a pixel, and plays it.

import * as api from "./api.js";
import { CLOSE, Player, bodyColours, column, elements, paths } from "./player.js";
import { brief, lines } from "./plot.js";

const ROWS = [
  ["Ends at time", "time"], ["Semi-major axis", "a"], ["Eccentricity", "e"], ["Velocity at infinity", "v_inf"],
  ["Closest approach", "least_distance"], ["at time", "least_distance_time"], ["Exchanges", "exchanges"], ["Excursions", "excursions"],
  ["Steps", "steps"], ["Energy error", "energy_error"],
];
// Most encounters take fewer steps, so that each step is a sample.
const SAMPLES = 16000;
const TRAIL = 600;
const PAIRS = [[0, 1], [1, 2], [0, 2]];

export class RecordCard {
  constructor(root, classes, hooks) {
    Object.assign(this, { root, classes, hooks });
    root.innerHTML = `
      <header><h2 id="record-outcome">Encounter</h2><span class="note" id="record-place"></span><button class="icon" id="record-close" aria-label="Close the encounter" title="Close (Esc)">${CLOSE}</button></header>
      ${elements("record", "Orbits of the three bodies.")}
      <p class="note" id="record-now"></p>
      <dl id="record-values"></dl>
      <canvas class="trace" id="record-trace" role="img" aria-label="Distances of the bodies over the steps of the integration"></canvas>
      <p class="warning" id="record-differs" hidden>In precision fast, a GPU has another result than this orbit, which is integrated in f64.</p>`;
    this.$ = (id) => root.querySelector(`#record-${id}`);
    this.player = new Player(root, "record", (row) => this.figures(row));
    this.$("close").onclick = () => this.close();
  }

  draw() { this.player.draw(); }

  async show(specification, tile, label) {
    this.abort?.abort();
    this.abort = new AbortController();
    this.player.stop();
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
    const { summary } = orbit;
    this.summary = summary;
    this.$("outcome").textContent = this.classes[summary.class].name;
    this.$("place").textContent = label;
    this.$("differs").hidden = summary.same;
    const entry = (tag, textContent) => Object.assign(document.createElement(tag), { textContent });
    // JSON has no NaN: a value that the run does not have is null.
    const known = ROWS.filter(([, name]) => summary.record[name] !== null);
    this.$("values").replaceChildren(...known.flatMap(([text, name]) => [entry("dt", text), entry("dd", Number.isInteger(summary.record[name]) ? summary.record[name].toLocaleString("en") : brief(summary.record[name], 6))]));
    [this.steps, this.times, this.jumps, this.error] = ["steps", "time", "jumps", "energy_error"].map((name) => column(orbit, name));
    const bodies = paths(orbit);
    this.distances = PAIRS.map(([i, j]) => this.times.map((_, row) => Math.hypot(...[0, 1, 2].map((k) => bodies[i][k][row] - bodies[j][k][row]))));
    this.root.dataset.state = "ready";
    this.player.take({ systems: [bodies], masses: summary.masses, times: this.times, trail: TRAIL, parts: this.jumps });
  }

  hide() { this.abort?.abort(); this.player.stop(); this.root.hidden = true; }
  close() { this.hide(); this.hooks.closed(); }

  figures(row) {
    const COLOURS = bodyColours(), jumps = this.jumps[row], x = this.steps;
    this.$("now").textContent = `Time ${brief(this.times[row], 6)}, energy error ${brief(this.error[row], 3)}${jumps ? `, ${jumps.toLocaleString("en")} excursion${jumps === 1 ? "" : "s"} jumped over` : ""}`;
    lines(this.$("trace"), { label: "distances 1–2, 2–3, 1–3 (length) over steps", log: true, from: 0, to: x[x.length - 1] || 1, mark: x[row],
      series: this.distances.map((y, pair) => ({ color: COLOURS[pair], x, y })) });
  }
}
