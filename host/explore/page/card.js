// What all cards with the orbit of a pixel have in common.

import * as api from "./api.js";
import { brief } from "./plot.js";

export const CLOSE = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 6l12 12M18 6 6 18"/></svg>';

/** A card whose elements have its id and their names as ids. A subclass has `samples`, and `take(orbit, label)`. */
export class Card {
  constructor(root, hooks, html) {
    Object.assign(this, { root, hooks });
    root.innerHTML = html;
    this.$("close").onclick = () => this.close();
  }

  $(name) { return this.root.querySelector(`#${this.root.id}-${name}`); }

  draw() { this.player.draw(); }

  async show(specification, tile, label) {
    this.abort?.abort();
    this.abort = new AbortController();
    this.player?.stop();
    this.root.hidden = false;
    this.root.dataset.state = "loading";
    this.$("place").textContent = "integrating…";
    try {
      this.orbit = await api.orbit({ specification, tile: [...tile, 1], samples: this.samples }, this.abort.signal);
      this.take(this.orbit, label);
      this.$("place").textContent = label;
      this.root.dataset.state = "ready";
    } catch (error) {
      if (error.name === "AbortError") return;
      this.$("place").textContent = error.message;
      this.root.dataset.state = "failed";
    }
  }

  /** Shows values by name. JSON has no NaN: a value that there is not is null. */
  list(element, rows) {
    const entry = (tag, textContent) => Object.assign(document.createElement(tag), { textContent });
    const known = rows.filter(([, value]) => value !== null && value !== undefined);
    const text = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : brief(value, 6));
    element.replaceChildren(...known.flatMap(([name, value]) => [entry("dt", name), entry("dd", text(value))]));
  }

  hide() {
    this.abort?.abort();
    this.player?.stop();
    this.orbit = null;
    this.root.hidden = true;
  }

  close() { this.hide(); this.hooks.closed(); }
}
