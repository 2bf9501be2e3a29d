// What became of the encounter of a pixel.

import * as api from "./api.js";
import { brief } from "./plot.js";

const ROWS = [
  ["Time of the end", "time"], ["Semi-major axis", "a"], ["Eccentricity", "e"], ["Velocity at infinity", "v_inf"],
  ["Closest approach", "least_distance"], ["at time", "least_distance_time"], ["Exchanges", "exchanges"], ["Excursions", "excursions"],
  ["Steps", "steps"], ["Energy error", "energy_error"],
];

export class RecordCard {
  constructor(root, classes, hooks) {
    Object.assign(this, { root, classes, hooks });
    root.innerHTML = `
      <header><h2 id="record-outcome">Encounter</h2><span class="note" id="record-place"></span><button class="icon" id="record-close" aria-label="Close the encounter" title="Close (Esc)"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 6l12 12M18 6 6 18"/></svg></button></header>
      <dl id="record-values"></dl>`;
    root.querySelector("#record-close").onclick = () => this.close();
  }

  async show(specification, tile, label) {
    this.abort?.abort();
    this.abort = new AbortController();
    this.root.hidden = false;
    this.root.dataset.state = "loading";
    const [title, place, list] = ["outcome", "place", "values"].map((id) => this.root.querySelector(`#record-${id}`));
    place.textContent = "integrating…";
    try {
      const { summary } = await api.orbit({ specification, tile: [...tile, 1], samples: 2 }, this.abort.signal);
      this.summary = summary;
      title.textContent = this.classes[summary.class].name;
      place.textContent = label;
      const entry = (tag, textContent) => Object.assign(document.createElement(tag), { textContent });
      // JSON has no NaN: a value that the run does not have is null.
      const known = ROWS.filter(([, name]) => summary.record[name] !== null);
      list.replaceChildren(...known.flatMap(([text, name]) => [entry("dt", text), entry("dd", Number.isInteger(summary.record[name]) ? summary.record[name].toLocaleString("en") : brief(summary.record[name], 6))]));
      this.root.dataset.state = "ready";
    } catch (error) {
      if (error.name === "AbortError") return;
      place.textContent = error.message;
      this.root.dataset.state = "failed";
    }
  }

  hide() { this.abort?.abort(); this.root.hidden = true; }
  close() { this.hide(); this.hooks.closed(); }
}
