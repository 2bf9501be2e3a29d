// Shows the orbit of a pixel and of its twin: three dimensions on a canvas, with trails and figures.

import * as api from "./api.js";
import { brief, fit, lines, style } from "./plot.js";

const COLOURS = ["#ffb454", "#5cc8ff", "#f2779b"];
const SAMPLES = 4000;
const PLAY = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M8 5v14l11-7z" fill="currentColor"/></svg>';
const PAUSE = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M8 5v14M16 5v14" stroke-width="3"/></svg>';

/** How far the view reaches at each row: as far as the bodies do before and after it, without haste. */
function smooth(radii) {
  const reach = Math.max(20, Math.floor(radii.length / 16)), out = Float64Array.from(radii);
  // The view widens before the bodies move apart, and narrows slowly after they have come together.
  for (let k = 1; k < out.length; k += 1) out[k] = Math.max(out[k], out[k - 1] * (1 - 2 / reach));
  for (let k = out.length - 2; k >= 0; k -= 1) out[k] = Math.max(out[k], out[k + 1] * (1 - 8 / reach));
  return out.map((r) => r || 1);
}

export class OrbitCard {
  constructor(root, hooks) {
    this.root = root; this.hooks = hooks;
    this.turn = [-0.6, 0.95]; this.zoom = 1; this.speed = 1; this.at = 0; this.playing = false;
    root.innerHTML = `
      <header><h2>Orbit</h2><span class="note" id="orbit-place"></span><button class="icon" id="orbit-close" aria-label="Close the orbit" title="Close (Esc)"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 6l12 12M18 6 6 18"/></svg></button></header>
      <canvas class="scene" id="orbit-scene" tabindex="0" role="img" aria-label="Orbits of the three bodies and of the twin system. Arrow keys turn, plus and minus zoom."></canvas>
      <div class="player">
        <button class="icon" id="orbit-play" aria-label="Play">${PLAY}</button>
        <input type="range" id="orbit-time" min="0" max="1" step="any" value="0" aria-label="Time">
        <select id="orbit-speed" aria-label="Speed">${[0.25, 0.5, 1, 2, 4, 8].map((s) => `<option value="${s}"${s === 1 ? " selected" : ""}>${s}×</option>`).join("")}</select>
      </div>
      <dl aria-live="off">
        <dt>Time</dt><dd id="orbit-now"></dd><dt>Separation</dt><dd id="orbit-separation"></dd>
        <dt>Part at</dt><dd id="orbit-part"></dd><dt>Energy error</dt><dd id="orbit-energy"></dd>
        <dt>Closest</dt><dd id="orbit-closest"></dd><dt>at time</dt><dd id="orbit-closest-time"></dd>
      </dl>
      <canvas class="trace" id="orbit-trace-1" role="img" aria-label="Separation of the twins over time"></canvas>
      <canvas class="trace" id="orbit-trace-2" role="img" aria-label="Energy error over time"></canvas>`;
    const $ = (id) => root.querySelector(`#orbit-${id}`);
    this.$ = $;
    $("close").onclick = () => this.close();
    $("play").onclick = () => this.play(!this.playing);
    $("speed").onchange = () => { this.speed = Number($("speed").value); };
    $("time").oninput = () => { this.at = Number($("time").value); this.play(false); this.draw(); };
    const scene = $("scene");
    let last = null;
    scene.onpointerdown = (e) => { last = [e.clientX, e.clientY]; scene.setPointerCapture(e.pointerId); };
    scene.onpointermove = (e) => {
      if (!last) return;
      this.rotate((e.clientX - last[0]) * 0.008, (e.clientY - last[1]) * 0.008);
      last = [e.clientX, e.clientY];
    };
    scene.onpointerup = scene.onpointercancel = () => { last = null; };
    scene.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom *= 2 ** (-e.deltaY / 400); this.draw(); }, { passive: false });
    scene.onkeydown = (e) => {
      const step = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15] }[e.key];
      if (step) this.rotate(...step);
      else if (e.key === "+" || e.key === "=") { this.zoom *= 1.25; this.draw(); }
      else if (e.key === "-") { this.zoom /= 1.25; this.draw(); }
      else if (e.key === " ") this.play(!this.playing);
      else return;
      e.preventDefault(); e.stopPropagation();
    };
    new ResizeObserver(() => this.draw()).observe(scene);
  }

  rotate(a, b) { this.turn = [this.turn[0] + a, Math.max(-1.57, Math.min(1.57, this.turn[1] + b))]; this.draw(); }

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
    const n = orbit.columns.length, column = (name) => { const k = orbit.columns.indexOf(name); return Float64Array.from({ length: orbit.rows }, (_, row) => orbit.samples[row * n + k]); };
    [this.times, this.separation, this.error, this.errorTwin] = ["time", "separation", "energy_error", "energy_error_twin"].map(column);
    this.paths = ["", "_twin"].map((twin) => [1, 2, 3].map((body) => ["x", "y", "z"].map((axis) => column(`${axis}${body}${twin}`))));
    // The view is centred on the middle of the bodies and scaled to their distances.
    this.middle = Array.from({ length: orbit.rows }, (_, row) => [0, 1, 2].map((k) => {
      const masses = orbit.summary.masses, total = masses.reduce((a, b) => a + b, 0);
      const weights = total > 0 ? masses.map((m) => m / total) : [1 / 3, 1 / 3, 1 / 3];
      return this.paths[0].reduce((sum, path, body) => sum + weights[body] * path[k][row], 0);
    }));
    const radii = this.middle.map((middle, row) => Math.max(...this.paths[0].map((path) => {
      const r = Math.hypot(...[0, 1, 2].map((k) => path[k][row] - middle[k]));
      return Number.isFinite(r) ? r : 0;
    })));
    this.radii = smooth(radii);
    const { summary } = orbit;
    this.$("place").textContent = label;
    this.$("part").textContent = summary.parted === null ? "never" : `${brief(summary.parted, 6)} (${summary.together.toLocaleString("en")} steps)`;
    this.$("closest").textContent = `${brief(summary.closest.distance)} (${summary.closest.bodies.join("–")})`;
    this.$("closest-time").textContent = brief(summary.closest.time, 6);
    this.$("time").max = this.times[orbit.rows - 1];
    this.at = 0;
    this.zoom = 1;
    this.root.dataset.state = "ready";
    this.play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
    this.draw();
  }

  play(on) {
    this.playing = on && !!this.orbit;
    this.$("play").innerHTML = this.playing ? PAUSE : PLAY;
    this.$("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
    if (this.playing && !this.frame) {
      let then = performance.now();
      const end = this.times[this.times.length - 1];
      if (this.at >= end) this.at = 0;
      const tick = (now) => {
        this.frame = 0;
        if (!this.playing || this.root.hidden) return;
        // At speed 1 the whole orbit takes 20 seconds.
        this.at = Math.min(end, this.at + ((now - then) / 20000) * end * this.speed);
        then = now;
        this.draw();
        if (this.at >= end) this.play(false); else this.frame = requestAnimationFrame(tick);
      };
      this.frame = requestAnimationFrame(tick);
    }
  }

  hide() {
    this.abort?.abort();
    this.playing = false;
    this.orbit = null;
    this.root.hidden = true;
  }

  close() { this.hide(); this.hooks.closed(); }

  draw() {
    if (!this.orbit || this.root.hidden) return;
    const { rows } = this.orbit, end = this.times[rows - 1] || 1;
    const row = Math.min(rows - 1, Math.round((this.at / end) * (rows - 1)));
    this.$("time").value = this.at;
    this.$("time").setAttribute("aria-valuetext", `time ${brief(this.at)}`);
    this.$("now").textContent = brief(this.times[row], 5);
    this.$("separation").textContent = brief(this.separation[row]);
    this.$("energy").textContent = brief(this.error[row], 3);
    this.scene(row);
    const mark = this.times[row], x = this.times;
    lines(this.$("trace-1"), { label: "separation of the twins (length)", log: true, from: 0, to: end, mark, series: [{ color: COLOURS[0], x, y: this.separation }] });
    lines(this.$("trace-2"), { label: "energy error, and the twin's", log: true, from: 0, to: end, mark, series: [
      { color: COLOURS[2], x, y: this.errorTwin, dash: [3, 3] }, { color: COLOURS[1], x, y: this.error }] });
  }

  scene(row) {
    const { context: c, width, height } = fit(this.$("scene"));
    const [a, b] = this.turn, [sa, ca, sb, cb] = [Math.sin(a), Math.cos(a), Math.sin(b), Math.cos(b)];
    const scale = (Math.min(width * 0.46, height * 0.5) / this.radii[row]) * this.zoom;
    const place = (path, k) => {
      const [x, y, z] = [0, 1, 2].map((d) => path[d][k] - this.middle[k][d]);
      const [u, v] = [ca * x - sa * y, sa * x + ca * y];
      return [width / 2 + u * scale, height / 2 + (cb * v - sb * z) * scale, sb * v + cb * z];
    };
    const dark = document.documentElement.dataset.theme !== "light";
    c.globalCompositeOperation = dark ? "lighter" : "multiply";
    const trail = Math.max(60, Math.floor(this.orbit.rows / 6)), first = Math.max(0, row - trail), parts = 14;
    for (const [twin, paths] of [...this.paths.entries()].reverse()) {
      paths.forEach((path, body) => {
        c.strokeStyle = COLOURS[body];
        c.setLineDash(twin ? [2, 4] : []);
        for (let part = 0; part < parts; part += 1) {
          const [from, to] = [part, part + 1].map((p) => first + Math.floor(((row - first) * p) / parts));
          if (to <= from) continue;
          c.globalAlpha = (0.08 + 0.8 * (part / parts) ** 1.4) * (twin ? 0.75 : 1);
          c.lineWidth = twin ? 1.1 : 1.7;
          c.beginPath();
          for (let k = from; k <= to; k += 1) { const [x, y] = place(path, k); if (Number.isFinite(x) && Number.isFinite(y)) c.lineTo(x, y); }
          c.stroke();
        }
      });
    }
    c.setLineDash([]);
    c.globalCompositeOperation = "source-over";
    const heaviest = Math.cbrt(Math.max(...this.orbit.summary.masses)) || 1;
    for (const [twin, paths] of [...this.paths.entries()].reverse()) {
      paths.forEach((path, body) => {
        const [x, y] = place(path, row), r = 2.5 + (4 * Math.cbrt(this.orbit.summary.masses[body])) / heaviest;
        if (!Number.isFinite(x) || !Number.isFinite(y)) return;
        c.globalAlpha = 1; c.fillStyle = COLOURS[body]; c.strokeStyle = COLOURS[body]; c.lineWidth = 1.4;
        c.beginPath(); c.arc(x, y, twin ? r + 2 : r, 0, 7);
        if (twin) c.stroke(); else c.fill();
      });
    }
    c.fillStyle = style("--soft"); c.font = "11px system-ui, sans-serif"; c.textAlign = "left";
    ["1", "2", "3"].forEach((name, body) => { c.fillStyle = COLOURS[body]; c.fillText(`● body ${name}`, 10, 18 + 15 * body); });
    c.fillStyle = style("--soft"); c.fillText("dashed: the twin", 10, 18 + 45);
  }
}
