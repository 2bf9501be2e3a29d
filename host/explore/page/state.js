// The state of the page in one object, in the address bar, and in the history for undo.

/** What differs from these is in the link. */
export const DEFAULTS = Object.freeze({
  preset: null, spec: {}, x: 0, y: 0, span: 40, follow: true, certainty: false,
  colour: "inferno", scale: "linear", reverse: false, low: null, high: null, orbit: null, line: null, against: null,
});

const NUMBERS = ["x", "y", "span", "low", "high"];

export function toLink(state) {
  const link = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (JSON.stringify(value) === JSON.stringify(DEFAULTS[key]) || value === null) continue;
    if (key === "spec") for (const [name, given] of Object.entries(value)) link.set(`p.${name}`, JSON.stringify(given));
    else link.set(key, Array.isArray(value) ? value.join(",") : String(value));
  }
  return link.toString();
}

export function fromLink(text) {
  const state = structuredClone(DEFAULTS);
  let given = false;
  for (const [key, value] of new URLSearchParams(text)) {
    given = true;
    if (key.startsWith("p.")) {
      try { state.spec[key.slice(2)] = JSON.parse(value); } catch { /* Not a value: the default stays. */ }
    } else if (NUMBERS.includes(key)) {
      if (Number.isFinite(Number(value))) state[key] = Number(value);
    } else if (key === "orbit" || key === "line") {
      const numbers = value.split(",").map(Number);
      if (numbers.length === (key === "orbit" ? 3 : 4) && numbers.every(Number.isFinite)) state[key] = numbers;
    } else if (["follow", "reverse", "certainty"].includes(key)) state[key] = value === "true";
    else if (key in DEFAULTS) state[key] = value;
  }
  if (!(state.span > 0)) state.span = DEFAULTS.span;
  return given ? state : null;
}

/** The states before this one and after it. A pause ends a change: many small ones are undone together. */
export class History {
  #past = []; #future = []; #now; #timer; #changed;
  constructor(state, changed) { this.#now = structuredClone(state); this.#changed = changed; }

  note(state, pause = 450) {
    clearTimeout(this.#timer);
    const taken = structuredClone(state);
    this.#timer = setTimeout(() => this.#commit(taken), pause);
  }
  #commit(state) {
    if (JSON.stringify(state) === JSON.stringify(this.#now)) return;
    this.#past.push(this.#now);
    if (this.#past.length > 500) this.#past.shift();
    this.#now = state;
    this.#future = [];
    this.#tell();
  }
  #tell() {
    history.replaceState(null, "", `#${toLink(this.#now)}`);
    this.#changed({ undo: this.#past.length > 0, redo: this.#future.length > 0 });
  }
  #move(from, to, current) {
    clearTimeout(this.#timer);
    this.#commit(structuredClone(current));
    if (!from.length) return null;
    to.push(this.#now);
    this.#now = from.pop();
    this.#tell();
    return structuredClone(this.#now);
  }
  undo(current) { return this.#move(this.#past, this.#future, current); }
  redo(current) {
    clearTimeout(this.#timer);
    return JSON.stringify(current) === JSON.stringify(this.#now) ? this.#move(this.#future, this.#past, current) : null;
  }
  /** The link of this state, at once. */
  link(state) { clearTimeout(this.#timer); this.#commit(structuredClone(state)); this.#tell(); return location.href; }
}
