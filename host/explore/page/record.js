// Shows what became of the encounter of a pixel, and plays it.

import { CLOSE, Card } from "./card.js";
import { Player, bodyColours, column, elements, paths } from "./player.js";
import { brief, lines } from "./plot.js";

const ROWS = [
  ["Ends at time", "time"], ["Semi-major axis", "a"], ["Eccentricity", "e"], ["Velocity at infinity", "v_inf"],
  ["Closest approach", "least_distance"], ["at time", "least_distance_time"], ["Exchanges", "exchanges"], ["Excursions", "excursions"],
  ["Steps", "steps"], ["Energy error", "energy_error"],
];
const TRAIL = 600;
const PAIRS = [[0, 1], [1, 2], [0, 2]];

export class RecordCard extends Card {
  // Most encounters take fewer steps, so that each step is a sample.
  samples = 16000;
  /** The classes of outcomes. */
  classes = [];

  constructor(root, hooks) {
    super(root, hooks, `
      <header><h2 id="record-outcome">Encounter</h2><span class="note" id="record-place"></span><button class="icon" id="record-close" aria-label="Close the encounter" title="Close (Esc)">${CLOSE}</button></header>
      ${elements("record", "Orbits of the three bodies.")}
      <p class="note" id="record-now"></p>
      <dl id="record-values"></dl>
      <canvas class="trace" id="record-trace" role="img" aria-label="Distances of the bodies over the steps of the integration"></canvas>
      <p class="warning" id="record-differs" hidden>In precision fast, a GPU has another result than this orbit, which is integrated in f64.</p>`);
    this.player = new Player(root, "record", (row) => this.figures(row));
  }

  take(orbit) {
    const { summary } = orbit;
    this.summary = summary;
    this.$("outcome").textContent = this.classes[summary.class].name;
    this.$("differs").hidden = summary.same;
    this.list(this.$("values"), ROWS.map(([text, name]) => [text, summary.record[name]]));
    [this.steps, this.times, this.jumps, this.error] = ["steps", "time", "jumps", "energy_error"].map((name) => column(orbit, name));
    const bodies = paths(orbit);
    this.distances = PAIRS.map(([i, j]) => this.times.map((_, row) => Math.hypot(...[0, 1, 2].map((k) => bodies[i][k][row] - bodies[j][k][row]))));
    this.player.take({ systems: [bodies], masses: summary.masses, times: this.times, trail: TRAIL, parts: this.jumps });
  }

  figures(row) {
    const COLOURS = bodyColours(), jumps = this.jumps[row], x = this.steps;
    this.$("now").textContent = `Time ${brief(this.times[row], 6)}, energy error ${brief(this.error[row], 3)}${jumps ? `, ${jumps.toLocaleString("en")} excursion${jumps === 1 ? "" : "s"} jumped over` : ""}`;
    lines(this.$("trace"), { label: "distances 1–2, 2–3, 1–3 (length) over steps", log: true, from: 0, to: x[x.length - 1] || 1, mark: x[row],
      series: this.distances.map((y, pair) => ({ color: COLOURS[pair], x, y })) });
  }
}
