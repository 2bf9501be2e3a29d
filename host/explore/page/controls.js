// The controls of the map, made from the declaration that the server sends.

import { swatch } from "./colour.js";
import { brief, fit } from "./plot.js";

const LETTERS = ["x", "y", "z"];
/** Marks a group that all systems but maps of divergence have. */
const ANY = "*";

const element = (tag, properties = {}, ...children) => {
  const { data, aria, ...rest } = properties, made = Object.assign(document.createElement(tag), rest);
  for (const [k, v] of Object.entries(aria ?? {})) made.setAttribute(k === "role" ? k : `aria-${k}`, v);
  for (const [k, v] of Object.entries(data ?? {})) made.dataset[k] = v;
  made.append(...children.filter((c) => c !== null));
  return made;
};
const title = (name) => { const words = name.replaceAll("_", " "); return words.length === 1 ? words.toUpperCase() : words[0].toUpperCase() + words.slice(1); };
const number = (text) => { const x = Number(text.trim().replace("−", "-")); return text.trim() !== "" && Number.isFinite(x) ? x : null; };

/** A number, a list of numbers, a text, or null. */
const free = (text) => {
  const parts = text.split(",").map((part) => part.trim()).filter((part) => part !== ""), numbers = parts.map(number);
  if (!parts.length) return null;
  if (numbers.includes(null)) return text.trim();
  return numbers.length === 1 ? numbers[0] : numbers;
};

/** Texts between separators or line breaks, or null. */
const listed = (text, separator) => {
  const parts = text.split(separator).flatMap((part) => part.split("\n")).map((part) => part.trim()).filter((part) => part !== "");
  return parts.length ? parts : null;
};

/** Text of a help without the default that the field shows anyway. */
const help = (text) => text.replace(/\s*\[default:[^\]]*\]/, "");

export class Controls {
  /** `hooks`: state(), set(change), preset(name), theme(choice), actions: { name: [label, function] }. */
  constructor(root, declaration, hooks) {
    Object.assign(this, { root, declaration, hooks });
    // The parameters of maps of divergence, and those of other systems.
    const systems = [{ system: "", parameters: declaration.parameters }, ...declaration.systems];
    this.sets = new Map(systems.map(({ system }) => [system, new Map()]));
    root.replaceChildren(this.presets(), this.view(), this.colours(), this.axesGroup(),
      ...systems.flatMap(({ system, parameters }) => this.groups(system, parameters)), this.copies(), this.look());
  }

  get fields() { return this.sets.get(this.hooks.state().spec.system ?? "") ?? this.sets.get(""); }

  // Presets and view

  presets() {
    this.presetButtons = this.declaration.presets.map((preset) => element("button", {
      className: "button", textContent: preset.title, title: preset.help, onclick: () => this.hooks.preset(preset.name), data: { preset: preset.name },
    }));
    return element("section", {}, element("h2", { textContent: "Presets" }), element("div", { className: "presets" }, ...this.presetButtons));
  }

  view() {
    // Fields are changed one at a time, because the other fields show rounded numbers.
    const input = (label, id, key) => {
      const made = element("input", { type: "text", id, inputMode: "decimal", autocomplete: "off", spellcheck: false, onchange: () => {
        const value = number(made.value), bad = value === null || (key === "span" && value <= 0);
        made.setAttribute("aria-invalid", String(bad));
        // The map has units of its own along the axes.
        const [fx, fy] = this.hooks.factors();
        if (!bad) this.hooks.set(key === "span" ? { span: value / fx } : this.hooks.coordinate(key, made.value, value / (key === "y" ? fy : fx)));
      } });
      return [element("label", { htmlFor: id }, label), made];
    };
    const [xl, x] = input("Centre x", "view-x", "x"), [yl, y] = input("Centre y", "view-y", "y"), [sl, s] = input("Span", "view-span", "span");
    [this.x, this.y, this.span, this.axes] = [x, y, s, [xl, yl]];
    this.spanUnit = element("span", { className: "unit" });
    sl.append(this.spanUnit);
    const integrators = this.declaration.parameters.find(({ name }) => name === "integrator")?.choices ?? [];
    this.against = element("select", { id: "against-integrator", onchange: () => this.hooks.set({ against: this.against.value || null }) },
      ...["", ...integrators].map((name) => element("option", { value: name, textContent: name || "no other" })));
    this.againstRow = element("div", { className: "row", title: "The map by two integrators, with a border between them that can be dragged." },
      element("label", { htmlFor: "against-integrator", textContent: "Beside the integrator" }), this.against);
    const follow = element("input", { type: "checkbox", id: "follow", onchange: () => this.hooks.set({ follow: follow.checked }) });
    this.follow = follow;
    this.limit = element("p", { className: "warning", hidden: true, textContent: "64-bit numbers end here: neighbouring pixels start at the same place." });
    this.facts = element("p", { className: "facts" });
    return element("section", {},
      element("div", { className: "two" }, element("div", { className: "row" }, xl, x), element("div", { className: "row" }, yl, y)),
      element("div", { className: "row" }, sl, s),
      element("label", { className: "check", title: "As in Badger's study: every halving of the span halves the shift and adds steps." }, follow, "Shift and steps follow the zoom"),
      this.againstRow,
      this.facts, this.limit);
  }

  // Colours

  colours() {
    this.swatches = this.declaration.palettes.map((palette) => {
      const canvas = element("canvas");
      swatch(canvas, palette);
      return element("button", { title: palette.name, onclick: () => this.hooks.set({ colour: palette.name }), data: { palette: palette.name }, aria: { label: `Colour map ${palette.name}` } }, canvas);
    });
    const scale = element("select", { id: "scale", onchange: () => this.hooks.set({ scale: scale.value }) },
      ...[["linear", "Linear"], ["log", "Logarithmic"], ["equal", "Equalised histogram"]].map(([value, text]) => element("option", { value, textContent: text })));
    const reverse = element("input", { type: "checkbox", onchange: () => this.hooks.set({ reverse: reverse.checked }) });
    const bound = (label, id, key) => {
      const made = element("input", { type: "text", id, placeholder: "auto", inputMode: "decimal", autocomplete: "off", onchange: () => {
        const value = made.value.trim() === "" ? null : number(made.value);
        const bad = made.value.trim() !== "" && value === null;
        made.setAttribute("aria-invalid", String(bad));
        if (!bad) this.hooks.set({ [key]: value });
      } });
      return [element("div", { className: "row" }, element("label", { htmlFor: id, textContent: label }), made), made];
    };
    const [lowRow, low] = bound("From", "range-low", "low"), [highRow, high] = bound("To", "range-high", "high");
    this.certainty = element("input", { type: "checkbox", id: "certainty", onchange: () => this.hooks.set({ certainty: this.certainty.checked }) });
    this.histogram = element("canvas", { id: "histogram", aria: { role: "img", label: "Histogram of the values on the screen" } });
    Object.assign(this, { scale, reverse, low, high });
    return element("section", {}, element("h2", { textContent: "Colours" }),
      element("div", { className: "row" }, element("div", { className: "swatches", aria: { role: "group", label: "Colour map" } }, ...this.swatches)),
      element("div", { className: "row" }, this.histogram),
      element("div", { className: "row" }, element("label", { htmlFor: "scale", textContent: "Scale" }), scale),
      element("div", { className: "two" }, lowRow, highRow),
      element("label", { className: "check" }, reverse, "Reversed"),
      element("label", { className: "check", title: "Computes every pixel again, with other steps and other digits, and colours what decides its value. It takes some fifteen times as long." }, this.certainty, "Show what is certain"));
  }

  /** Shows how often values occur, in their colours. */
  drawHistogram(values, colours, tell) {
    const { context: c, width, height } = fit(this.histogram), { low, high } = colours, bars = Math.floor(width / 3), counts = new Float64Array(bars);
    for (const v of values) if (v > low) counts[Math.max(0, Math.min(bars - 1, Math.floor(colours.position(v) * bars)))] += 1;
    const most = Math.max(...counts, 1);
    counts.forEach((count, k) => {
      if (!count) return;
      c.fillStyle = colours.cssAt((k + 0.5) / bars);
      const h = Math.max(1.5, (height - 8) * Math.sqrt(count / most));
      c.fillRect((k / bars) * width, height - h, width / bars - 0.6, h);
    });
    const ends = [tell(low), tell(high)].sort((a, b) => a - b);
    [this.low.placeholder, this.high.placeholder] = ends.map((x) => brief(x));
  }

  // Parameters

  groups(system, parameters) {
    const groups = new Map();
    for (const parameter of parameters) {
      if (!groups.has(parameter.group)) groups.set(parameter.group, []);
      groups.get(parameter.group).push(this.field(parameter, system));
    }
    // Equations are what a map of them is about.
    const isText = (name) => parameters.some(({ group, kind }) => group === name && kind === "lines");
    return [...groups].map(([name, fields], k) => element("details", { open: isText(name) || (k === 0 && innerHeight > 1000), data: { system } }, element("summary", { textContent: name }), ...fields));
  }

  /** The parameters along the axes of a map of an ensemble. */
  axesGroup() {
    this.axisFields = ["Columns", "Rows"].map((text, k) => {
      const id = `axis-${k}`, select = element("select", { id, onchange: () => {
        const names = this.axisFields.map((f) => f.value), other = 1 - k;
        // Two axes of the same parameter change places.
        if (names[0] === names[1]) names[other] = this.shownAxes[k];
        this.hooks.axes(names);
      } });
      return Object.assign(select, { row: element("div", { className: "row" }, element("label", { htmlFor: id, textContent: text }), select) });
    });
    return element("details", { open: true, data: { system: ANY } }, element("summary", { textContent: "Axes" }), ...this.axisFields.map((f) => f.row));
  }

  field(parameter, system) {
    const { name, kind, unit, choices, default: usual } = parameter, inputs = [], long = parameter.separator === ";" || kind === "lines";
    const commit = () => this.commit(parameter);
    const id = system ? `${system}-${name}` : `p-${name}`, about = help(parameter.help);
    const input = (label, extra) => {
      const made = element(long ? "textarea" : "input", { ...(long ? { rows: 4 } : { type: "text" }), autocomplete: "off", spellcheck: false, inputMode: kind === "text" ? "text" : "decimal", onchange: commit, ...extra });
      if (label) made.setAttribute("aria-label", label);
      inputs.push(made);
      return made;
    };
    const unitTag = unit ? element("span", { className: "unit", textContent: unit }) : null;
    const error = element("p", { className: "error", id: `${id}-error`, hidden: true });
    let row;
    if (choices) {
      const select = element("select", { id, onchange: commit }, ...choices.map((choice) => element("option", { value: JSON.stringify(choice), textContent: String(choice ?? (parameter.placeholder || "none")).replaceAll("-", " ") })));
      inputs.push(select);
      row = element("div", { className: "row" }, element("label", { htmlFor: id }, title(name), unitTag), select, error);
    } else if (kind === "vector" || kind === "vectors") {
      const bodies = kind === "vectors" ? usual : [usual];
      const parts = name === "masses" ? ["1", "2", "3"].map((n) => `body ${n}`) : LETTERS;
      const heads = element("div", { className: "three", aria: { hidden: "true" } }, ...parts.map((p) => element("span", { className: "axis", textContent: p })));
      const rows = bodies.map((_, body) => element("div", { className: "three" }, ...parts.map((part) => input(kind === "vectors" ? `${title(name)}, body ${body + 1}, ${part}` : `${title(name)}, ${part}`))));
      row = element("fieldset", { className: "row" }, element("legend", {}, title(name), unitTag), heads, ...rows, error);
    } else row = element("div", { className: "row" }, element("label", { htmlFor: id }, title(name), unitTag), input(null, { id, placeholder: parameter.placeholder ?? "" }), error);
    row.title = about;
    inputs.forEach((i) => i.setAttribute("aria-describedby", `${id}-error`));
    this.sets.get(system).set(name, { parameter, inputs, error });
    return row;
  }

  commit({ name, kind, choices, default: usual, placeholder, separator, scales }) {
    const { inputs } = this.fields.get(name);
    let value;
    if (choices) value = JSON.parse(inputs[0].value);
    else if (kind === "text") value = inputs[0].value;
    else if (kind === "lines") value = inputs[0].value.trim() || null;
    else if (separator) value = listed(inputs[0].value, separator);
    else if (kind === "free") value = free(inputs[0].value);
    else {
      const numbers = inputs.map((i) => number(i.value)), bad = numbers.map((n) => n === null || (kind === "integer" && !Number.isSafeInteger(n)));
      inputs.forEach((i, k) => i.setAttribute("aria-invalid", String(bad[k])));
      if (bad.includes(true)) return this.refused({ option: name, allowed: kind === "integer" ? "must be a whole number" : "must be a number" });
      value = kind === "vectors" ? [numbers.slice(0, 3), numbers.slice(3, 6), numbers.slice(6, 9)] : kind === "vector" ? numbers : numbers[0];
    }
    const spec = { ...this.hooks.state().spec };
    if (JSON.stringify(value) === JSON.stringify(usual)) delete spec[name]; else spec[name] = value;
    // Another start has other axes.
    if (name === "setup") { delete spec.map; for (const axis of Object.keys(spec)) if (!["system", "setup", "order"].includes(axis)) delete spec[axis]; }
    // Another quantity has other values, and colours that suit them.
    this.hooks.set(scales ? { spec, scale: scales[value ?? placeholder] ?? "linear", low: null, high: null } : { spec });
  }

  /** Says at the field what is not allowed. */
  refused(refusal) {
    for (const [name, { inputs, error }] of this.fields) {
      const here = refusal?.option === name;
      error.hidden = !here;
      error.textContent = here ? refusal.allowed : "";
      inputs.forEach((i) => i.setAttribute("aria-invalid", String(here)));
      if (here) error.closest("details").open = true;
    }
    this.general.hidden = !refusal || this.fields.has(refusal.option);
    this.general.textContent = refusal ? `${refusal.option ?? ""} ${refusal.allowed ?? refusal.message}` : "";
  }

  warn(warnings) { this.warnings.replaceChildren(...warnings.map((text) => element("p", { className: "warning", textContent: text }))); }

  // Copying and saving

  copies() {
    this.general = element("p", { className: "error", hidden: true, aria: { role: "alert" } });
    this.warnings = element("div");
    const buttons = Object.entries(this.hooks.actions).map(([name, [label, action]]) => element("button", { className: "button", textContent: label, onclick: action, data: { action: name } }));
    return element("section", {}, element("h2", { textContent: "Take along" }), element("div", { className: "presets" }, ...buttons), this.general, this.warnings);
  }

  look() {
    const theme = element("select", { id: "theme", onchange: () => this.hooks.theme(theme.value) },
      ...["auto", "dark", "light"].map((value) => element("option", { value, textContent: title(value) })));
    this.theme = theme;
    return element("section", {}, element("div", { className: "row" }, element("label", { htmlFor: "theme", textContent: "Theme" }), theme),
      element("p", { className: "facts", textContent: `${this.declaration.device}` }),
      element("p", { className: "facts", textContent: "Keys: arrows pan, + and − zoom, Enter orbit, L line, C controls, Ctrl+Z undo." }));
  }

  /** Shows a state in all fields. */
  show(state, { certifiable, effective, labels, atLimit, digits, system, axes, list }) {
    for (const group of this.root.querySelectorAll("details")) group.hidden = group.dataset.system === ANY ? system === "" : group.dataset.system !== system;
    this.shownAxes = axes;
    const names = list.map(({ name }) => name).join();
    this.axisFields.forEach((select, k) => {
      if (select.dataset.names !== names) {
        select.replaceChildren(...list.map(({ name, unit }) => element("option", { value: name, textContent: unit ? `${name} (${unit})` : name })));
        select.dataset.names = names;
      }
      select.value = axes[k];
    });
    this.spanUnit.textContent = system ? list.find(({ name }) => name === axes[0])?.unit ?? "" : "length";
    this.follow.parentElement.hidden = this.againstRow.hidden = system !== "";
    this.against.value = state.against ?? "";
    this.certainty.parentElement.hidden = !certifiable;
    for (const [name, { parameter, inputs }] of this.fields) {
      const value = state.spec[name] ?? parameter.default;
      if (parameter.choices) {
        const text = JSON.stringify(value);
        if (![...inputs[0].options].some((o) => o.value === text)) inputs[0].append(element("option", { value: text, textContent: String(value) }));
        inputs[0].value = text;
      } else if (parameter.kind !== "number" && !Array.isArray(parameter.default)) { if (inputs[0] !== document.activeElement) inputs[0].value = value === null ? "" : [value].flat().join(parameter.separator === ";" ? ";\n" : ", "); }
      else [value].flat(2).forEach((v, k) => { if (inputs[k] && inputs[k] !== document.activeElement) inputs[k].value = String(v); });
    }
    const put = (field, text) => { if (field !== document.activeElement) { field.value = text; field.setAttribute("aria-invalid", "false"); } };
    const [fx, fy] = this.hooks.factors();
    put(this.x, digits(state.x * fx, 0)); put(this.y, digits(state.y * fy, 1)); put(this.span, brief(state.span * fx, 6).replaceAll("−", "-"));
    put(this.low, state.low === null ? "" : String(state.low)); put(this.high, state.high === null ? "" : String(state.high));
    this.follow.checked = state.follow; this.certainty.checked = state.certainty; this.scale.value = state.scale; this.reverse.checked = state.reverse;
    for (const button of this.swatches) button.setAttribute("aria-pressed", String(button.dataset.palette === state.colour));
    const same = (preset) => JSON.stringify(Object.entries(preset.specification).sort()) === JSON.stringify(Object.entries(state.spec).sort());
    for (const button of this.presetButtons) {
      const preset = this.declaration.presets.find((p) => p.name === button.dataset.preset);
      button.setAttribute("aria-pressed", String(state.preset === preset.name && same(preset)));
    }
    this.facts.textContent = effective;
    this.limit.hidden = !atLimit;
    if (labels) this.axes.forEach((label, k) => { label.textContent = `Centre ${labels[k]}`; });
  }
}

