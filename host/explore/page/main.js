// The page: its state, and the actions of the user.

import * as api from "./api.js";
import { Colours, swatch } from "./colour.js";
import { Controls } from "./controls.js";
import * as exporting from "./export.js";
import { LineCard } from "./line.js";
import { LiveView } from "./live.js";
import { MapView, ulp } from "./map.js";
import { OrbitCard } from "./orbit.js";
import { RecordCard } from "./record.js";
import { placesFor, rest, sum } from "./places.js";
import { brief } from "./plot.js";
import { SeriesCard } from "./series.js";
import { DEFAULTS, History, fromLink } from "./state.js";

const $ = (id) => document.getElementById(id);
const MOVED = 5;        // Pixels beyond which a press is no click.
const LINE_POINTS = 1024;

let toasting;
function toast(text) {
  $("toast").textContent = text;
  $("toast").classList.add("shown");
  clearTimeout(toasting);
  toasting = setTimeout(() => $("toast").classList.remove("shown"), 2600);
}
const failed = (error) => { toast(error.message); };

function theme(choice) {
  const dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  try { localStorage.setItem("theme", choice); } catch { /* It is for this visit only, then. */ }
}
const remembered = () => { try { return localStorage.getItem("theme") ?? "auto"; } catch { return "auto"; } };
theme(remembered());
// What is drawn in the colours of the theme, once there is something.
let redraw = () => {};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (remembered() === "auto") { theme("auto"); redraw(); } });

function toggleControls(open = $("controls").classList.contains("closed")) {
  $("controls").classList.toggle("closed", !open);
  $("toggle").setAttribute("aria-expanded", String(open));
}
$("toggle").onclick = () => toggleControls();
// On a wide window the controls cover the button; they stay where they are.
const narrow = matchMedia("(max-width: 760px)");

const about = await api.get("/api/about").catch((error) => {
  toast(`${error.message} Open the link that the program printed.`);
  throw error;
});
if (narrow.matches) toggleControls(false);
if (about.map) startMap(); else if (about.live) startLive();
document.documentElement.dataset.ready = "true";

function startLive() {
  document.title = `${about.live.title} – Trisolar`;
  $("live-view").hidden = false;
  $("tools").hidden = $("legend").hidden = true;
  window.trisolar = new LiveView($("cloud"), $("controls"), about.live, { failed });
  $("place").textContent = about.live.title;
  document.addEventListener("keydown", (e) => { if (e.key === "c" && !e.ctrlKey && e.target === document.body) toggleControls(); });
}

function startMap() {
  const declaration = about.map, { zoom } = declaration;
  const usual = Object.fromEntries(declaration.parameters.map((p) => [p.name, p.default]));
  const presets = new Map(declaration.presets.map((p) => [p.name, p]));
  const first = presets.get(declaration.start);
  $("map-view").hidden = false;

  const ofPreset = (preset) => ({ ...structuredClone(DEFAULTS), preset: preset.name, spec: { ...preset.specification },
    x: preset.view.center[0], y: preset.view.center[1], span: Math.max(...preset.view.span) });
  let state = fromLink(location.hash.slice(1)) ?? ofPreset(first);
  let described = null;

  // Every halving of the span halves the shift and adds steps, as in the zoom of Badger's study. (The span is that of the link, the same in every window.)
  const ensemble = () => declaration.systems.find((s) => s.system === state.spec.system) ?? null;
  const halvings = () => (state.follow && !ensemble() ? Math.max(0, Math.round(Math.log2(zoom.span / state.span))) : 0);
  const value = (name) => state.spec[name] ?? usual[name];
  // What the server says of the plane of an ensemble's map: parameters as axes, in units of their own, and the quantity. Until it does, the last plane stands in for it.
  const PLAIN = { factor: 1, low: -(2 ** 20), high: 2 ** 20, above: false, name: "", unit: "" };
  const planes = new Map();
  let lastPlane = { axes: [], names: [], quantity: { label: "", unit: "", scale: "linear" }, steps: 1 };
  const plane = () => (ensemble() ? planes.get(family()) ?? lastPlane : null);
  // Maps whose pixels can have verdicts, which are classes of their own.
  const certifiable = () => ensemble()?.certainty ?? true, certain = () => state.certainty && certifiable();
  const ownQuantity = () => plane()?.quantity ?? declaration.quantities.find((q) => q.name === value("quantity")) ?? declaration.quantities[0];
  const quantity = () => (certain() ? { ...ownQuantity(), classes: declaration.verdicts } : ownQuantity());
  const steps = () => plane()?.steps ?? Math.round(value("steps") * (1 + (halvings() * zoom.steps_added) / zoom.steps_at));
  const axes = () => [0, 1].map((k) => plane()?.axes.find((axis) => axis.name === plane().names[k]) ?? PLAIN);
  const factors = () => axes().map((axis) => axis.factor);
  // Beyond this level, values of parameters are not exact.
  const deepest = () => (ensemble() ? Math.floor(10 + 42 - Math.log2(Math.max(Math.abs(state.x), Math.abs(state.y)) + state.span)) : Infinity);
  function specification() {
    const deep = halvings(), spec = { ...state.spec, ...(certain() && { certainty: true }) };
    if (deep > 0) Object.assign(spec, { steps: steps(), shift: value("shift").map((d) => d * zoom.shift_factor ** deep) });
    return spec;
  }
  const scaleOfQuantity = (name) => declaration.quantities.find((q) => q.name === (name ?? usual.quantity))?.scale ?? "linear";
  const from = () => (quantity().shown_from === "steps" ? steps() : null);
  // Pixels have the colours of the steps that were left, so that those that never part are darkest. What is told is the time until they part.
  const isTold = () => quantity().shown_from === "steps";
  const tell = (shown) => (isTold() ? (steps() - shown) * value("dt") : shown);
  const untell = (told) => (told === null || !isTold() ? told : steps() - told / value("dt"));
  const named = ({ label, unit }) => (unit ? `${label} (${unit})` : label);
  const meaning = () => { const { label, unit, shown_as: told } = quantity(); return told ? { label: told[0], unit: told[1] } : { label, unit }; };
  const inWords = (shown) => (isTold() && shown <= 0 ? "never parted" : `${Number.isInteger(tell(shown)) ? tell(shown).toLocaleString("en") : brief(tell(shown), 6)} ${meaning().unit}`.trim());
  // The range of the colours is told, too, whose ends change places then.
  function colouring() {
    const ends = [untell(state.low), untell(state.high)], [low, high] = isTold() ? ends.reverse() : ends;
    // Verdicts are the brighter the sooner twins part, as in the program's pictures.
    return { ...state, low, high, reverse: state.reverse !== (certain() && isTold()) };
  }
  const family = () => JSON.stringify([Object.entries(state.spec).sort(), state.follow, certain()]);

  const colours = new Colours(declaration.palettes);
  const map = new MapView($("map"), $("marks"), about, colours, {
    specification, from, steps, colouring, failed: refused, deepest,
    bounds: () => bounds(),
    idle: ({ busy, done }) => {
      $("work").textContent = busy ? `computing ${Math.floor(100 * done)} %` : "";
      document.documentElement.dataset.busy = String(busy);
    },
    changed: () => { marks(); place(); },
    coloured: () => { legend(); controls.drawHistogram(map.values, colours, tell); if (against()) other.refresh(); },
    resized: () => { frame(); refreshControls(); },
  });

  // The same map by another integrator, to the right of a border.
  let border = 0.5;
  const against = () => (ensemble() || state.against === value("integrator") ? null : state.against);
  const byOther = () => ({ ...specification(), integrator: against() });
  const bounds = () => axes().map(({ low, high, above }) => ({ low: Math.max(-(2 ** 20), low), high: Math.min(2 ** 20, high), above }));
  const nothing = () => {};
  const other = new MapView($("against"), document.createElement("canvas"), about, colours, {
    specification: byOther, from, steps, colouring: nothing, failed: refused, deepest, bounds,
    idle: nothing, changed: nothing, coloured: nothing, resized: () => frame(),
  });
  const isBeyond = (place) => against() && place[0] > border * map.width;
  const mapAt = (place) => (isBeyond(place) ? other : map);
  function wipe() {
    const shown = !!against(), handle = $("wipe");
    $("against").hidden = handle.hidden = !shown;
    if (!shown) return other.giveUp(() => true);
    $("against").style.clipPath = `inset(0 0 0 ${100 * border}%)`;
    handle.style.left = `${100 * border}%`;
    handle.setAttribute("aria-valuenow", String(Math.round(100 * border)));
    [...handle.children].forEach((name, k) => { name.textContent = k ? against() : value("integrator"); });
  }
  function moveBorder(to) { border = Math.max(0.02, Math.min(0.98, to)); wipe(); place(); }
  $("wipe").onpointerdown = (e) => { $("wipe").setPointerCapture(e.pointerId); e.preventDefault(); };
  $("wipe").onpointermove = (e) => { if (e.buttons) moveBorder(e.clientX / map.width); };
  $("wipe").onkeydown = (e) => { const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[e.key]; if (step) { moveBorder(border + step); e.preventDefault(); } };

  const orbitCard = new OrbitCard($("orbit"), { limit: declaration.energy_limit, closed: () => { if (state.orbit) change({ orbit: null }); } });
  const recordCard = new RecordCard($("record"), { closed: () => { if (state.orbit) change({ orbit: null }); } });
  const seriesCard = new SeriesCard($("series"), { closed: () => { if (state.orbit) change({ orbit: null }); } });
  const orbitCards = [orbitCard, recordCard, seriesCard];
  const lineCard = new LineCard($("line"), { closed: () => { if (state.line) change({ line: null }); } });
  const past = new History(state, ({ undo, redo }) => { $("undo").disabled = !undo; $("redo").disabled = !redo; });
  const text = (name, what) => [`Copy as ${what}`, async () => { try { await exporting.copy((await describe())[name]); toast(`Copied as ${what}.`); } catch (error) { refused(error); } }];
  const controls = new Controls($("controls"), declaration, {
    state: () => state,
    set: (changes) => change(changes),
    preset: (name) => {
      const { colour, scale, reverse, follow, certainty } = state, preset = presets.get(name), next = ofPreset(preset);
      const same = ["system", "quantity", "observable", "value"].every((key) => JSON.stringify(next.spec[key]) === JSON.stringify(state.spec[key]));
      change({ ...next, colour, scale: same ? scale : preset.scale ?? scaleOfQuantity(next.spec.quantity), reverse, follow: preset.follow ?? follow, certainty, fit: preset });
    },
    factors,
    // A text may have more digits than its number.
    coordinate: (key, text, number) => (origin() ? { [key]: rest(text, 0, origin()[key === "x" ? 0 : 1]) } : { [key]: number }),
    axes: (names) => {
      const all = plane().axes, place = (name) => all.findIndex((axis) => axis.name === name);
      if (ensemble().ordered) names.sort((a, b) => place(a) - place(b));
      const usual = names.map((name) => all[place(name)]?.usual ?? [0, 1]);
      const view = { center: usual.map(([a, b]) => (a + b) / 2), span: usual.map(([a, b]) => b - a) };
      change({ spec: { ...state.spec, map: names }, orbit: null, line: null, fit: { view } });
    },
    theme: (choice) => { theme(choice); redraw(); },
    actions: {
      command: text("command", "command"), python: text("python", "Python"),
      png: ["Save picture", async () => { try { exporting.save("trisolar.png", await exporting.picture(map, colours, (await describe()).labels, [described.method, described.command], { factors: factors(), origin: origin(), tell, untell })); } catch (error) { refused(error); } }],
      values: ["Save values", () => {
        const { values, shape, first, last } = map.grid(), [x, y] = [0, 1].map((k) => [first[k], last[k]].map((v) => brief(v * factors()[k], 6)).join(" to "));
        exporting.save("trisolar.npy", exporting.npy(values, shape));
        toast(`${shape[1]} x ${shape[0]} values${shape[2] ? " with their classes" : ""}, the lowest row first: ${axisNames()[0]} ${x}, ${axisNames()[1]} ${y}.`);
      }],
      toml: ["Save specification", async () => { try { exporting.save("trisolar.toml", new Blob([(await describe()).toml], { type: "text/plain" })); } catch (error) { refused(error); } }],
    },
  });
  controls.theme.value = remembered();
  redraw = () => { map.refresh(); orbitCards.forEach((card) => card.draw()); lineCard.draw(); };

  // The map also fills the window beside and below the panels. `span` is the extent along the shorter side of the window.
  const scaleOf = (span) => span / Math.min(...map.size);
  // Parameters that the server has taken; with others the last picture stays until it has.
  const taken = new Set();
  function frame() {
    map.frozen = !taken.has(family());
    const [of, exact] = map.frozen ? [map.family, map.exact] : [family(), `${family()} ${halvings()}`];
    map.show([state.x, state.y], scaleOf(state.span), of, exact);
    wipe();
    if (!against()) return;
    if (other.width !== map.width || other.height !== map.height) other.measure();
    other.frozen = map.frozen;
    other.show([state.x, state.y], scaleOf(state.span), `${of} ${against()}`, `${exact} ${against()}`);
  }

  /** A preset's rectangle as a whole, in this window. */
  function fitted({ center, span }) {
    const [w, h] = map.size, scale = Math.max(span[0] / w, span[1] / h);
    return { x: center[0], y: center[1], span: scale * Math.min(w, h) };
  }

  // Where 64-bit numbers do not tell pixels apart, coordinates are counted from a place that is a parameter of the map, and the server computes in double-double.
  const origin = () => (ensemble() ? null : state.spec.center ?? null);
  const isDeep = () => !ensemble() && value("quantity") === "divergence" && value("precision") === "f64" && declaration.deep.includes(value("integrator"));
  const whole = (v, k, places) => (origin() ? sum(origin()[k], v, places) : v.toFixed(places));
  function settle() {
    const from = origin(), { center, ...spec } = state.spec, at = [state.x, state.y];
    if (center && (!from || !isDeep() || state.span > 2 ** -24)) {
      const [x, y] = at.map((v, k) => Number(sum(center[k], v, 30)));
      Object.assign(state, { spec, x, y, orbit: null, line: null });
    } else if (isDeep() && scaleOf(state.span) < 2 ** 13 * Math.max(...at.map(ulp))) {
      const old = from ?? ["0", "0"], places = placesFor(scaleOf(state.span)), next = at.map((v, k) => sum(old[k], v, places));
      const [x, y] = at.map((v, k) => rest(old[k], v, next[k]));
      Object.assign(state, { spec: { ...spec, center: next }, x, y, orbit: null, line: null });
    }
  }

  let describing;
  function change(changes, pause) {
    const { fit, ...rest } = changes;
    const before = family();
    state = { ...state, ...rest, ...(fit && fitted(fit.view)) };
    limit();
    apply(before);
    // A drag is one change, however long it takes.
    if (held.size) return;
    past.note(state, pause ?? (("x" in changes || "span" in changes) && !fit ? 450 : 0));
  }

  /** Keeps the view where there are numbers. */
  function limit() {
    const far = 2 ** 20;
    state.x = Math.max(-far, Math.min(far, state.x));
    state.y = Math.max(-far, Math.min(far, state.y));
    settle();
    const least = (Math.max(ulp(state.x), ulp(state.y), isDeep() ? 2 ** -88 : 2 ** -60) / 16) * Math.min(...map.size);
    state.span = Math.max(least, Math.min(8192, state.span));
  }

  function apply(before) {
    if (before !== family()) controls.refused(null);
    frame();
    if (!map.frozen) dress();
    refreshControls();
    if (!map.frozen) cards();
    clearTimeout(describing);
    describing = setTimeout(() => describe().catch(refused), map.frozen ? 0 : 250);
  }

  /** Colours of the present quantity. */
  function dress() {
    map.stale = true;
    [colours.classes, colours.clipped, colours.range] = [quantity().classes ?? null, quantity().clipped ?? 0, quantity().range ?? null];
  }

  function refreshControls() {
    const deep = halvings() > 0;
    const pixel = map.scale;
    controls.show(state, {
      certifiable: certifiable(),
      labels: axisNames(), atLimit: map.atLimit,
      digits: (x, k = 0) => {
        const places = Math.max(0, Math.ceil(-Math.log10(pixel * factors()[k])) + 2);
        return origin() ? whole(x, k, Math.min(50, places)) : String(Number(x.toFixed(Math.min(20, places))));
      },
      system: ensemble()?.system ?? "", axes: axes().map((axis) => axis.name), list: plane()?.axes ?? [],
      effective: ensemble() ? `A pixel is ${axes().map((axis) => `${brief(pixel * axis.factor, 3)} ${axis.unit}`.trim()).join(" by ")}` : `${steps().toLocaleString("en")} steps${deep ? `, shift ${brief(Math.abs(value("shift")[0]) * zoom.shift_factor ** halvings(), 3)}` : ""}; a pixel is ${brief(pixel, 3)} wide${origin() ? ", in double-double" : ""}`,
    });
  }
  const axisNames = () => (ensemble() ? axes().map((axis) => axis.name) : null) ?? ({ xy: ["x", "y"], xz: ["x", "z"], yz: ["y", "z"] })[value("plane")] ?? ["x", "y"];

  async function describe() {
    const [w, h] = map.size.map(Math.round);
    const view = { center: [state.x, state.y], span: [w * map.scale, h * map.scale], size: [w, h] };
    const request = { specification: specification(), view }, asked = family();
    assess(null);
    const response = await api.post("/api/describe", request);
    const found = await response.json();
    if (asked !== family()) return described ?? found;
    if (found.plane) planes.set(asked, lastPlane = found.plane);
    if (found.refusal) { refreshControls(); throw Object.assign(new Error(found.refusal.allowed), found.refusal); }
    described = found;
    if (!taken.has(asked)) { taken.add(asked); frame(); dress(); refreshControls(); map.refresh(); cards(); }
    controls.refused(null);
    // A deviation of the pixels from squares beyond rounding would be visible.
    controls.warn(described.warnings.filter((text) => !(map.atLimit && text.includes("neighbouring pixels"))));
    legend();
    place();
    assess(request);
    return described;
  }

  // How accurate the view is, once it stays for a while.
  let assessing, assessment = new AbortController();
  function assess(request) {
    clearTimeout(assessing);
    assessment.abort();
    if (!request) return;
    assessment = new AbortController();
    $("accuracy").textContent = described.method ?? "";
    $("accuracy").title = "";
    $("accuracy").classList.remove("bad");
    const { signal } = assessment;
    assessing = setTimeout(async () => {
      try {
        const found = await (await api.post("/api/accuracy", request, signal)).json();
        if (signal.aborted || !found) return;
        const { unresolved, step } = found, percent = (share) => `${brief(100 * share, 2)} %`, parts = [described.method];
        if (step?.compared) parts.push(`${percent(step.share)} wrong`);
        if (unresolved) parts.push(`${percent(unresolved.share)} unresolved`);
        if (found.words) parts.push(found.words);
        $("accuracy").textContent = parts.filter(Boolean).join("  ·  ");
        $("accuracy").title = [
          step && `${step.changed} of ${step.compared} values of a sample of ${step.sample} pixels change by more than 5 % with a quarter of the step.`,
          unresolved && `In ${unresolved.unresolved} of ${unresolved.sample} pixels two bodies come so close that the step is too long.`,
        ].filter(Boolean).join(" ");
        $("accuracy").classList.toggle("bad", (step?.share ?? 0) > 0.5 || (unresolved?.share ?? 0) > 0.1);
        document.documentElement.dataset.assessed = "true";
      } catch (error) { if (error.name !== "AbortError") failed(error); }
    }, 600);
  }

  function refused(error) {
    if (!error.option) return failed(error);
    // Other planets or equations may lack the parameters that were the axes.
    if (error.option === "map" && state.spec.map) {
      const { map: _, ...spec } = state.spec;
      toast(`${error.option} ${error.given}: ${error.allowed}`);
      return change({ spec, orbit: null, line: null });
    }
    controls.refused(error);
    if (!map.frozen) return;
    $("accuracy").textContent = `${error.option} ${error.given}: ${error.allowed}`;
    $("accuracy").classList.add("bad");
  }

  function legend() {
    const { classes, palette } = colours;
    // The last picture keeps its legend.
    if (!palette || map.frozen) return;
    $("legend").classList.toggle("classes", !!classes);
    // Only the classes that occur, so that there is room.
    const occurring = new Set([...map.tiles.values()].flatMap((tile) => (tile.family === map.family && tile.values.classes ? (tile.classes ??= [...new Set(tile.values.classes)]) : [])));
    if (classes) $("legend-name").replaceChildren(...classes.filter((_, k) => occurring.has(k)).map(({ name, colour }) => {
      const made = document.createElement("span");
      made.className = "class";
      made.textContent = name;
      made.style.setProperty("--class", `#${colour.toString(16).padStart(6, "0")}`);
      return made;
    }));
    else if (described) $("legend-name").textContent = described.labels.value;
    // Numbers grow to the right, also where the darkest is the largest.
    swatch($("bar-canvas"), palette, state.reverse !== isTold());
    const ends = [colours.low, colours.high].map(tell), [left, right] = isTold() ? ends.reverse() : ends;
    $("legend-low").textContent = brief(left); $("legend-high").textContent = brief(right);
    $("legend").title = described?.labels.value ?? "";
  }

  // Marks: the pixel whose orbit is shown, and the line.
  let drawnLine = null;
  function marks() {
    // Drawn in software, because Chromium without a GPU does not show that an accelerated canvas has been cleared.
    const c = map.marks.getContext("2d", { willReadFrequently: true }), r = map.ratio;
    c.reset();
    c.scale(r, r);
    const stroke = (path) => { for (const [color, width] of [["rgb(0 0 0 / 0.7)", 4], ["#fff", 1.6]]) { c.strokeStyle = color; c.lineWidth = width; c.beginPath(); path(); c.stroke(); } };
    if (state.orbit) {
      const [x, y] = map.toScreen(map.pixelPlace(state.orbit));
      stroke(() => { c.arc(x, y, 9, 0, 7); for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) { c.moveTo(x + dx * 9, y + dy * 9); c.lineTo(x + dx * 16, y + dy * 16); } });
    }
    bar(c);
    const ends = drawnLine ?? state.line;
    if (ends) {
      const [p, q] = [map.toScreen(ends.slice(0, 2)), map.toScreen(ends.slice(2))];
      stroke(() => { c.moveTo(...p); c.lineTo(...q); });
      for (const [x, y] of [p, q]) stroke(() => c.arc(x, y, 4, 0, 7));
    }
  }

  /** A length of 1, 2 or 5 times a power of ten, with its unit, above the left end of the status line. */
  function bar(c) {
    const [{ unit }] = axes(), wide = map.scale * factors()[0], most = 150 * wide, power = 10 ** Math.floor(Math.log10(most));
    const length = power * ([5, 2].find((n) => n * power <= most) ?? 1), to = 18 + length / wide, y = $("status").getBoundingClientRect().top - 12;
    const path = () => { c.moveTo(18, y - 5); c.lineTo(18, y); c.lineTo(to, y); c.lineTo(to, y - 5); };
    const text = `${brief(length, 2)} ${ensemble() ? unit || axisNames()[0] : "(length)"}`;
    c.font = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
    c.textBaseline = "bottom";
    for (const [color, width] of [["rgb(0 0 0 / 0.7)", 4], ["#fff", 1.6]]) { c.strokeStyle = color; c.lineWidth = width; c.beginPath(); path(); c.stroke(); }
    c.strokeStyle = "rgb(0 0 0 / 0.7)"; c.lineWidth = 3; c.strokeText(text, 24, y - 4);
    c.fillStyle = "#fff"; c.fillText(text, 24, y - 4);
  }

  // Cards follow the state, so that a link and an undo bring them back.
  let shownOrbit = null, shownLine = null;
  function cards() {
    const orbit = state.orbit && JSON.stringify([state.orbit, family()]);
    if (orbit !== shownOrbit) {
      shownOrbit = orbit;
      if (orbit) {
        const [x, y] = map.pixelPlace(state.orbit), [a, b] = axisNames();
        const [fx, fy] = factors(), card = !ensemble() ? orbitCard : ensemble().system === "encounters" ? recordCard : seriesCard;
        orbitCards.forEach((other) => { if (other !== card && !other.root.hidden) other.hide(); });
        recordCard.classes = ownQuantity().classes ?? [];
        card.show(isBeyond(map.toScreen([x, y])) ? byOther() : specification(), state.orbit, origin() ? `${a} = ${sum(origin()[0], x, placesFor(map.scale))}, ${b} = ${sum(origin()[1], y, placesFor(map.scale))}` : `${a} = ${brief(x * fx, 7)}, ${b} = ${brief(y * fy, 7)}`);
        uncover(card.root, true);
      } else {
        orbitCards.forEach((card) => { if (!card.root.hidden) card.close(); });
      }
    }
    if (state.orbit) for (const card of orbitCards) if (!card.root.hidden) uncover(card.root, false);
    const line = state.line && JSON.stringify([state.line, family()]);
    if (line !== shownLine) {
      shownLine = line;
      if (line) lineCard.show(specification(), isTold() ? (v) => v * value("dt") : (v) => v, state.line, LINE_POINTS, named(meaning()), factors());
      else if (!$("line").hidden) lineCard.close();
    }
  }

  /** Keeps a card off the pixel whose orbit it shows: on the other side, or, where it is as wide as the window, by moving the map. */
  function uncover(card, mayPan) {
    const [x, y] = map.toScreen(map.pixelPlace(state.orbit)), margin = 20;
    const covers = () => { const box = card.getBoundingClientRect(); return x > box.left - margin && x < box.right + margin && y > box.top - margin && y < box.bottom + margin; };
    if (!covers()) return;
    card.classList.toggle("right");
    if (!covers()) return;
    card.classList.remove("right");
    if (mayPan && covers()) pan(0, card.getBoundingClientRect().top / 2 - y);
  }

  // Input
  const canvas = $("map"), held = new Map();
  let pressed = null, pointer = null;
  const local = (e) => [e.clientX, e.clientY];

  function zoomAt(factor, [sx, sy] = [map.width / 2, map.height / 2]) {
    const [ax, ay] = map.toMap([sx, sy]);
    const span = state.span * factor, scale = scaleOf(span);
    change({ span, x: ax - (sx - map.width / 2) * scale, y: ay + (sy - map.height / 2) * scale });
  }
  function pan(dx, dy) { change({ x: state.x - dx * map.scale, y: state.y + dy * map.scale }); }
  function orbitAt(place) { change({ orbit: map.pixelAt(place), line: null }); }
  function lineTool(on) { $("line-tool").setAttribute("aria-pressed", String(on)); }
  const lining = () => $("line-tool").getAttribute("aria-pressed") === "true";

  canvas.onpointerdown = (e) => {
    if (e.button > 0) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(e.pointerId);
    held.set(e.pointerId, local(e));
    pressed = held.size === 1 ? { at: local(e), moved: false, line: e.shiftKey || lining() } : null;
    if (held.size > 1) drawnLine = null;
    map.pressed = true;
  };
  canvas.onpointermove = (e) => {
    pointer = local(e);
    const last = held.get(e.pointerId), now = pointer;
    if (!last) return place();
    if (held.size === 2) {
      const other = [...held].find(([id]) => id !== e.pointerId)[1], apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      const middle = (p) => [(p[0] + other[0]) / 2, (p[1] + other[1]) / 2], [m, n] = [middle(last), middle(now)];
      held.set(e.pointerId, now);
      pan(n[0] - m[0], n[1] - m[1]);
      return zoomAt(apart(last) / Math.max(1, apart(now)), n);
    }
    if (!pressed) return;
    if (Math.hypot(now[0] - pressed.at[0], now[1] - pressed.at[1]) > MOVED) pressed.moved = true;
    if (!pressed.moved) return;
    if (pressed.line) { drawnLine = [...map.toMap(pressed.at), ...map.toMap(now)]; marks(); return; }
    canvas.classList.add("dragging");
    pan(now[0] - last[0], now[1] - last[1]);
    held.set(e.pointerId, now);
  };
  canvas.onpointerup = canvas.onpointercancel = (e) => {
    const mine = held.delete(e.pointerId);
    canvas.classList.remove("dragging");
    map.pressed = held.size > 0;
    if (mine && !held.size && !pressed) past.note(state, 0); // The end of a pinch.
    if (!mine || !pressed || e.type === "pointercancel") { pressed = held.size ? pressed : null; drawnLine = null; return; }
    if (pressed.line && pressed.moved) { const ends = drawnLine; drawnLine = null; lineTool(false); change({ line: ends, orbit: null }); }
    else if (!pressed.moved) orbitAt(local(e));
    else past.note(state, 0);
    pressed = null;
  };
  canvas.onpointerleave = () => { pointer = null; place(); };
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    const lines = e.deltaMode === 1 ? 30 : 1;
    zoomAt(2 ** Math.max(-2, Math.min(2, (e.deltaY * lines) / (e.ctrlKey ? 120 : 320))), local(e));
  }, { passive: false });

  const className = (seen) => (seen?.class === undefined ? "" : `${quantity().classes?.[seen.class]?.name ?? ""}, `);
  // The value of a coarser pixel is that of another place.
  const exactly = (at) => { const seen = map.frozen ? null : mapAt(at).lookAt(at); return seen?.exact ? seen : null; };
  let announcing;
  function announce() {
    clearTimeout(announcing);
    announcing = setTimeout(() => {
      const [a, b] = axisNames(), [fx, fy] = factors(), seen = exactly([map.width / 2, map.height / 2]), known = seen?.value ?? null;
      $("announce").textContent = `Centre ${a} ${brief(state.x * fx, 6)}, ${b} ${brief(state.y * fy, 6)}, span ${brief(state.span * fx, 3)}. ${className(seen)}${known === null ? "Not computed yet." : `${inWords(known)}, ${meaning().label}.`}`;
    }, 500);
  }
  canvas.onkeydown = (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const far = e.shiftKey ? 0.5 : 0.12, moves = { ArrowLeft: [far, 0], ArrowRight: [-far, 0], ArrowUp: [0, far], ArrowDown: [0, -far] }[e.key];
    if (moves) pan(moves[0] * map.width, moves[1] * map.height);
    else if (e.key === "+" || e.key === "=") zoomAt(1 / 2);
    else if (e.key === "-" || e.key === "_") zoomAt(2);
    else if (e.key === "Enter") orbitAt([map.width / 2, map.height / 2]);
    else if (e.key === "Home") goHome();
    else if (e.key === "l" || e.key === "L") { const q = map.width / 4; change({ line: [...map.toMap([q, map.height / 2]), ...map.toMap([3 * q, map.height / 2])], orbit: null }); }
    else return;
    e.preventDefault();
    announce();
  };
  const goHome = () => change({ fit: presets.get(state.preset) ?? first });

  function travel(how) {
    const to = past[how](state);
    if (!to) return;
    const before = family();
    state = to;
    apply(before);
  }
  document.addEventListener("keydown", (e) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "z" && !typing) { e.preventDefault(); travel(e.shiftKey ? "redo" : "undo"); }
    else if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "y" && !typing) { e.preventDefault(); travel("redo"); }
    else if (e.key === "Escape") { if (state.line) change({ line: null }); else if (state.orbit) change({ orbit: null }); }
    else if (e.key === "c" && !typing && !e.ctrlKey && !e.metaKey) toggleControls();
  });
  $("undo").onclick = () => travel("undo");
  $("redo").onclick = () => travel("redo");
  $("zoom-in").onclick = () => zoomAt(1 / 2);
  $("zoom-out").onclick = () => zoomAt(2);
  $("home").onclick = goHome;
  $("line-tool").onclick = () => lineTool(!lining());
  $("share").onclick = async () => { try { await exporting.copy(past.link(state)); toast("Link copied."); } catch (error) { failed(error); } };
  addEventListener("hashchange", () => { const to = fromLink(location.hash.slice(1)); if (to) { const before = family(); state = to; limit(); apply(before); past.note(state, 0); } });

  function place() {
    const [a, b] = axisNames(), at = pointer ?? [map.width / 2, map.height / 2], factor = factors(), [x, y] = map.toMap(at).map((v, k) => v * factor[k]), seen = exactly(at), known = seen?.value ?? null;
    const places = Math.max(0, Math.min(origin() ? 50 : 15, Math.ceil(-Math.log10(map.scale * factor[0])) + 1)), show = (v, k) => whole(v, k, places).replace("-", "−");
    $("place").textContent = `${a} ${show(x, 0)}  ${b} ${show(y, 1)}${known === null ? "" : `  ·  ${className(seen)}${inWords(known)}`}`;
  }

  if (!location.hash) Object.assign(state, fitted(first.view));
  limit();
  apply("");
  // For tests: the state of the page, and whether the view is complete.
  window.trisolar = { map, other, colours, orbitCard, recordCard, seriesCard, lineCard, get state() { return state; } };
}
