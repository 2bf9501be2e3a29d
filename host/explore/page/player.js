// Plays the motion of three bodies: a scene in three dimensions with trails, and a player.

import { brief, fit, style } from "./plot.js";

/** The colours of the three bodies, those of the theme. */
export const bodyColours = () => [1, 2, 3].map((body) => style(`--body-${body}`));
const PLAY = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M8 5v14l11-7z" fill="currentColor"/></svg>';
const PAUSE = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M8 5v14M16 5v14" stroke-width="3"/></svg>';

/** The elements of a player whose ids begin with `id`. */
export const elements = (id, label) => `
  <canvas class="scene" id="${id}-scene" tabindex="0" role="img" aria-label="${label} Arrow keys turn, plus and minus zoom, Space plays."></canvas>
  <div class="player">
    <button class="icon" id="${id}-play" aria-label="Play">${PLAY}</button>
    <input type="range" id="${id}-time" min="0" max="1" step="any" value="0" aria-label="Time">
    <select id="${id}-speed" aria-label="Speed">${[0.25, 0.5, 1, 2, 4, 8].map((s) => `<option value="${s}"${s === 1 ? " selected" : ""}>${s}×</option>`).join("")}</select>
  </div>`;

/** A column of the samples of an orbit. */
export function column(orbit, name) {
  const n = orbit.columns.length, k = orbit.columns.indexOf(name);
  return Float64Array.from({ length: orbit.rows }, (_, row) => orbit.samples[row * n + k]);
}

/** The paths of the three bodies: [body][axis][row]. */
export const paths = (orbit, suffix = "") => [1, 2, 3].map((body) => ["x", "y", "z"].map((axis) => column(orbit, `${axis}${body}${suffix}`)));

/** How far the view reaches at each row: as far as the bodies do before and after it, without haste. */
function smooth(radii) {
  const reach = Math.max(20, Math.floor(radii.length / 16)), out = Float64Array.from(radii);
  // The view widens before the bodies move apart, and narrows slowly after they have come together.
  for (let k = 1; k < out.length; k += 1) out[k] = Math.max(out[k], out[k - 1] * (1 - 2 / reach));
  for (let k = out.length - 2; k >= 0; k -= 1) out[k] = Math.max(out[k], out[k + 1] * (1 - 8 / reach));
  return out.map((r) => r || 1);
}

export class Player {
  /** `drawn(row)` is called with the row that is shown. */
  constructor(root, id, drawn) {
    this.drawn = drawn;
    this.turn = [-0.6, 0.95]; this.zoom = 1; this.speed = 1; this.at = 0; this.playing = false; this.motion = null;
    const $ = (name) => root.querySelector(`#${id}-${name}`);
    this.canvas = $("scene"); this.slider = $("time"); this.button = $("play");
    this.button.onclick = () => this.play(!this.playing);
    $("speed").onchange = () => { this.speed = Number($("speed").value); };
    this.slider.oninput = () => { this.at = Number(this.slider.value); this.play(false); this.draw(); };
    let last = null;
    this.canvas.onpointerdown = (e) => { last = [e.clientX, e.clientY]; this.canvas.setPointerCapture(e.pointerId); };
    this.canvas.onpointermove = (e) => {
      if (!last) return;
      this.rotate((e.clientX - last[0]) * 0.008, (e.clientY - last[1]) * 0.008);
      last = [e.clientX, e.clientY];
    };
    this.canvas.onpointerup = this.canvas.onpointercancel = () => { last = null; };
    this.canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom *= 2 ** (-e.deltaY / 400); this.draw(); }, { passive: false });
    this.canvas.onkeydown = (e) => {
      const step = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15] }[e.key];
      if (step) this.rotate(...step);
      else if (e.key === "+" || e.key === "=") { this.zoom *= 1.25; this.draw(); }
      else if (e.key === "-") { this.zoom /= 1.25; this.draw(); }
      else if (e.key === " ") this.play(!this.playing);
      else return;
      e.preventDefault(); e.stopPropagation();
    };
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  rotate(a, b) { this.turn = [this.turn[0] + a, Math.max(-1.57, Math.min(1.57, this.turn[1] + b))]; this.draw(); }

  /** Takes a motion and plays it: `systems` are paths, the first of which is followed; rows are shown at equal intervals. Trails are broken where `parts` changes. */
  take({ systems, masses, times, trail, parts = null, notes = [] }) {
    const rows = times.length, total = masses.reduce((a, b) => a + b, 0);
    const weights = total > 0 ? masses.map((m) => m / total) : [1 / 3, 1 / 3, 1 / 3];
    // The view is centred on the centre of mass and scaled to the distances from it.
    const middle = Array.from({ length: rows }, (_, row) => [0, 1, 2].map((k) => systems[0].reduce((sum, path, body) => sum + weights[body] * path[k][row], 0)));
    const radii = middle.map((centre, row) => Math.max(...systems[0].map((path) => {
      const r = Math.hypot(...[0, 1, 2].map((k) => path[k][row] - centre[k]));
      return Number.isFinite(r) ? r : 0;
    })));
    this.motion = { systems, masses, times, trail, parts, notes, rows, middle, radii: smooth(radii) };
    this.at = 0;
    this.zoom = 1;
    this.play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
    this.draw();
  }

  stop() { this.playing = false; this.motion = null; }

  play(on) {
    this.playing = on && !!this.motion;
    this.button.innerHTML = this.playing ? PAUSE : PLAY;
    this.button.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    if (this.playing && !this.frame) {
      let then = performance.now();
      if (this.at >= 1) this.at = 0;
      const tick = (now) => {
        this.frame = 0;
        if (!this.playing || !this.canvas.clientWidth) return;
        // At speed 1 the whole motion takes 20 seconds.
        // A frame that the browser began before the playing has an earlier time.
        this.at = Math.min(1, this.at + (Math.max(0, now - then) / 20000) * this.speed);
        then = now;
        this.draw();
        if (this.at >= 1) this.play(false); else this.frame = requestAnimationFrame(tick);
      };
      this.frame = requestAnimationFrame(tick);
    }
  }

  draw() {
    if (!this.motion || !this.canvas.clientWidth) return;
    const { rows, times } = this.motion, row = Math.min(rows - 1, Math.round(this.at * (rows - 1)));
    this.slider.value = this.at;
    this.slider.setAttribute("aria-valuetext", `time ${brief(times[row])}`);
    this.scene(row);
    this.drawn(row);
  }

  scene(row) {
    const { systems, masses, trail, parts, notes, middle, radii } = this.motion;
    const { context: c, width, height } = fit(this.canvas), COLOURS = bodyColours();
    const [a, b] = this.turn, [sa, ca, sb, cb] = [Math.sin(a), Math.cos(a), Math.sin(b), Math.cos(b)];
    const scale = (Math.min(width * 0.46, height * 0.5) / radii[row]) * this.zoom;
    const place = (path, k) => {
      const [x, y, z] = [0, 1, 2].map((d) => path[d][k] - middle[k][d]);
      const [u, v] = [ca * x - sa * y, sa * x + ca * y];
      return [width / 2 + u * scale, height / 2 + (cb * v - sb * z) * scale];
    };
    const dark = document.documentElement.dataset.theme !== "light";
    c.globalCompositeOperation = dark ? "lighter" : "multiply";
    const first = Math.max(0, row - trail), sections = 14;
    for (const [twin, bodies] of [...systems.entries()].reverse()) {
      bodies.forEach((path, body) => {
        c.strokeStyle = COLOURS[body];
        c.setLineDash(twin ? [2, 4] : []);
        for (let section = 0; section < sections; section += 1) {
          const [from, to] = [section, section + 1].map((s) => first + Math.floor(((row - first) * s) / sections));
          if (to <= from) continue;
          c.globalAlpha = (0.08 + 0.8 * (section / sections) ** 1.4) * (twin ? 0.75 : 1);
          c.lineWidth = twin ? 1.1 : 1.7;
          c.beginPath();
          for (let k = from; k <= to; k += 1) {
            const [x, y] = place(path, k), joined = k > from && (!parts || parts[k] === parts[k - 1]);
            if (Number.isFinite(x) && Number.isFinite(y)) { if (joined) c.lineTo(x, y); else c.moveTo(x, y); }
          }
          c.stroke();
        }
      });
    }
    c.setLineDash([]);
    c.globalCompositeOperation = "source-over";
    const heaviest = Math.cbrt(Math.max(...masses)) || 1;
    for (const [twin, bodies] of [...systems.entries()].reverse()) {
      bodies.forEach((path, body) => {
        const [x, y] = place(path, row), r = 2.5 + (4 * Math.cbrt(masses[body])) / heaviest;
        if (!Number.isFinite(x) || !Number.isFinite(y)) return;
        c.globalAlpha = 1; c.fillStyle = COLOURS[body]; c.strokeStyle = COLOURS[body]; c.lineWidth = 1.4;
        c.beginPath(); c.arc(x, y, twin ? r + 2 : r, 0, 7);
        if (twin) c.stroke(); else c.fill();
      });
    }
    c.font = "11px system-ui, sans-serif"; c.textAlign = "left";
    ["1", "2", "3"].forEach((name, body) => { c.fillStyle = COLOURS[body]; c.fillText(`● body ${name}`, 10, 18 + 15 * body); });
    c.fillStyle = style("--soft");
    notes.forEach((note, k) => c.fillText(note, 10, 18 + 15 * (3 + k)));
  }
}
