// Shows a live run: the bodies in three dimensions by WebGL, the energy error, the radii and the progress.

import * as api from "./api.js";
import { brief, lines, style } from "./plot.js";

const VERTEX = `#version 300 es
in vec4 body;
uniform mat4 view;
uniform float size, low, high;
out float speed;
void main() {
  gl_Position = view * vec4(body.xyz, 1.0);
  gl_PointSize = clamp(size / gl_Position.w, 1.5, 40.0);
  speed = clamp((body.w - low) / max(high - low, 1e-30), 0.0, 1.0);
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in float speed;
uniform sampler2D palette;
uniform float strength;
out vec4 colour;
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  float a = exp(-4.5 * r * r) * smoothstep(1.0, 0.7, r);
  colour = vec4(texture(palette, vec2(speed, 0.5)).rgb, 1.0) * a * strength;
}`;
/** Cool for slow bodies, warm for fast ones. */
const STOPS = [[70, 96, 255], [96, 178, 255], [226, 232, 255], [255, 196, 104], [255, 116, 48]];

export class LiveView {
  constructor(canvas, controls, about, hooks) {
    Object.assign(this, { canvas, controls, about, hooks });
    this.turn = [0.5, 0.5]; this.distance = 3; this.points = new Float32Array(0); this.moments = []; this.standing = "running"; this.spin = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.panel();
    this.gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
    if (this.gl) this.prepare(); else hooks.failed(new Error("This browser has no WebGL 2: the bodies cannot be drawn."));
    this.input();
    this.follow();
    const tick = () => { this.draw(); requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
  }

  panel() {
    const { about } = this;
    this.controls.innerHTML = `
      <section><h2>${escape(about.title)}</h2>
        <p class="note">${escape(about.device)}</p>
        <div class="row"><span class="label"><span id="live-standing">running</span><span id="live-time"></span></span>
        <progress id="live-progress" max="1" value="0" aria-label="Progress" style="width:100%"></progress></div>
        <button class="button" id="live-pause" aria-pressed="false">Pause the run</button></section>
      <section><canvas class="profile" id="live-radii" role="img" aria-label="Lagrange radii over time"></canvas><p class="note" id="live-radii-now"></p></section>
      <section><canvas class="profile" id="live-energy" role="img" aria-label="Energy error over time"></canvas><p class="note" id="live-energy-now"></p></section>
      <section><h2>View</h2>
        <label class="check"><input type="checkbox" id="live-spin" ${this.spin ? "checked" : ""}>Turn slowly</label>
        <label class="row"><span class="label">Size of bodies</span><input type="range" id="live-size" min="-2" max="3" step="0.1" value="0"></label>
        <label class="row"><span class="label">Brightness</span><input type="range" id="live-strength" min="-3" max="2" step="0.1" value="0"></label>
        <p class="note" id="live-rate"></p></section>
      <details><summary>Specification</summary><dl style="grid-template-columns:auto 1fr">${Object.entries(about.specification ?? {}).map(([k, v]) => `<dt>${escape(k.replaceAll("_", " "))}</dt><dd>${escape(typeof v === "object" ? JSON.stringify(v) : String(v))}</dd>`).join("")}</dl></details>`;
    this.$ = (id) => this.controls.querySelector(`#live-${id}`);
    this.$("pause").onclick = () => this.pause();
    this.$("spin").onchange = () => { this.spin = this.$("spin").checked; };
  }

  async pause() {
    if (this.standing === "finished") return;
    try { await api.post("/api/pause", { paused: this.standing !== "paused" }); } catch (error) { this.hooks.failed(error); }
  }

  /** Frames as they come. */
  async follow() {
    try {
      const bytes = new api.Bytes(await api.open("/api/live"));
      for (let head; (head = await bytes.take(8));) {
        const view = new DataView(head.buffer), text = await bytes.take(view.getUint32(0, true));
        const length = view.getUint32(4, true), points = length ? await bytes.take(length) : null;
        if (!text || (length && !points)) break;
        this.take(JSON.parse(new TextDecoder().decode(text)), points && new Float32Array(points.buffer));
      }
      if (this.standing !== "finished") throw new Error("The run has gone.");
    } catch (error) {
      this.$("standing").textContent = "The connection has ended.";
      this.hooks.failed(error);
    }
  }

  take({ time, progress, standing, moments }, points) {
    this.time = time;
    this.moments.push(...moments);
    this.standing = standing;
    this.$("standing").textContent = standing;
    this.$("time").textContent = `time ${brief(time, 5)} of ${brief(this.about.end, 5)}`;
    this.$("progress").value = progress;
    this.$("pause").textContent = standing === "paused" ? "Go on" : standing === "finished" ? "Finished" : "Pause the run";
    this.$("pause").setAttribute("aria-pressed", standing === "paused");
    this.$("pause").disabled = standing === "finished";
    if (points) {
      this.points = points;
      this.fresh = true;
      this.frames = (this.frames ?? 0) + 1;
      if (this.low === undefined && points.length) this.measure();
    }
    if (moments.length && this.moments.length > 1) this.plots();
  }

  /** How large the cloud is and how fast: fixed from then on, so that what moves is the bodies. */
  measure() {
    const n = this.points.length / 4, stride = Math.max(1, Math.floor(n / 5000)), radii = [], speeds = [], middle = [0, 0, 0];
    let count = 0;
    for (let i = 0; i < n; i += stride) { for (let k = 0; k < 3; k += 1) middle[k] += this.points[4 * i + k]; count += 1; }
    this.middle = middle.map((s) => s / count);
    for (let i = 0; i < n; i += stride) {
      radii.push(Math.hypot(...[0, 1, 2].map((k) => this.points[4 * i + k] - this.middle[k])));
      speeds.push(this.points[4 * i + 3]);
    }
    radii.sort((a, b) => a - b); speeds.sort((a, b) => a - b);
    this.radius = radii[Math.floor(radii.length * 0.8)] || 1;
    [this.low, this.high] = [speeds[Math.floor(speeds.length * 0.05)], speeds[Math.floor(speeds.length * 0.97)]];
  }

  plots() {
    const x = this.moments.map((m) => m.time), from = x[0], to = Math.max(x[x.length - 1], from + 1e-9), last = this.moments[this.moments.length - 1];
    const { fractions } = this.about, hue = (k) => `hsl(${205 + (k / Math.max(1, fractions.length - 1)) * 180} 85% ${document.documentElement.dataset.theme === "light" ? 40 : 68}%)`;
    lines(this.$("radii"), { label: "Lagrange radii (length)", log: true, from, to, xLabel: "time", series: fractions.map((_, k) => ({ color: hue(k), x, y: this.moments.map((m) => m.lagrange[k] ?? NaN) })) });
    lines(this.$("energy"), { label: "energy error |ΔE/E|", log: true, from, to, xLabel: "time", series: [{ color: style("--body-1"), x, y: this.moments.map((m) => Math.abs(m.energy_error ?? NaN)) }] });
    const half = fractions.indexOf(0.5);
    this.$("radii-now").textContent = `half-mass radius ${brief(last.lagrange[half])}; ${fractions.map((f) => `${100 * f} %`).join(", ")}`;
    this.$("energy-now").textContent = `energy error ${brief(last.energy_error, 3)} at time ${brief(last.time, 5)}`;
  }

  prepare() {
    const { gl } = this, shader = (kind, text) => {
      const s = gl.createShader(kind); gl.shaderSource(s, text); gl.compileShader(s);
      if (!gl.getShaderParameter(s, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(s));
      return s;
    };
    this.program = gl.createProgram();
    gl.attachShader(this.program, shader(gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(this.program, shader(gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(this.program);
    this.at = Object.fromEntries(["view", "size", "low", "high", "palette", "strength"].map((name) => [name, gl.getUniformLocation(this.program, name)]));
    this.buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    const body = gl.getAttribLocation(this.program, "body");
    gl.enableVertexAttribArray(body);
    gl.vertexAttribPointer(body, 4, gl.FLOAT, false, 16, 0);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB, STOPS.length, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, new Uint8Array([...STOPS.flat(), 0]).subarray(0, 15));
    for (const [name, value] of [[gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR], [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]]) gl.texParameteri(gl.TEXTURE_2D, name, value);
  }

  draw() {
    const { gl, canvas } = this, now = performance.now();
    this.drawn = (this.drawn ?? 0) + 1;
    if (now - (this.counted ?? 0) > 1000) {
      const seconds = (now - (this.counted ?? now - 1000)) / 1000;
      this.rate = { drawn: this.drawn / seconds, frames: (this.frames ?? 0) / seconds };
      this.$("rate").textContent = `${this.about.bodies.toLocaleString("en")} bodies, ${Math.round(this.rate.drawn)} pictures/s`;
      [this.drawn, this.frames, this.counted] = [0, 0, now];
    }
    if (!gl || !this.points.length) return;
    if (this.spin && !this.held) this.turn[0] += 0.0016;
    const ratio = Math.min(2, devicePixelRatio || 1), [w, h] = [canvas.clientWidth, canvas.clientHeight].map((v) => Math.max(1, Math.round(v * ratio)));
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    gl.viewport(0, 0, w, h);
    gl.clearColor(0.022, 0.02, 0.04, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(this.program);
    if (this.fresh) { gl.bufferData(gl.ARRAY_BUFFER, this.points, gl.DYNAMIC_DRAW); this.fresh = false; }
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE);
    gl.uniformMatrix4fv(this.at.view, false, this.matrix(w / h));
    const n = this.points.length / 4, size = 2 ** Number(this.$("size").value), strength = 2 ** Number(this.$("strength").value);
    gl.uniform1f(this.at.size, Math.max(9, 150 / Math.cbrt(n)) * size * ratio * 2.2);
    gl.uniform1f(this.at.low, this.low); gl.uniform1f(this.at.high, this.high);
    gl.uniform1i(this.at.palette, 0);
    gl.uniform1f(this.at.strength, Math.min(1, Math.max(0.16, 14 / Math.sqrt(n))) * strength);
    gl.drawArrays(gl.POINTS, 0, n);
  }

  matrix(aspect) {
    const [a, b] = this.turn, [sa, ca, sb, cb] = [Math.sin(a), Math.cos(a), Math.sin(b), Math.cos(b)];
    const s = 1 / this.radius, f = 1.7, [mx, my, mz] = this.middle;
    // Rows of the rotation, scaled; then a perspective from `distance` away.
    const rows = [[ca, -sa, 0], [sa * cb, ca * cb, -sb], [sa * sb, ca * sb, cb]].map((r) => r.map((v) => v * s));
    const off = rows.map((r) => -(r[0] * mx + r[1] * my + r[2] * mz));
    const [fx, fy] = aspect > 1 ? [f / aspect, f] : [f, f * aspect], d = this.distance;
    const m = new Float32Array(16);
    for (let k = 0; k < 3; k += 1) { m[4 * k] = fx * rows[0][k]; m[4 * k + 1] = fy * rows[1][k]; m[4 * k + 2] = -0.001 * rows[2][k]; m[4 * k + 3] = -rows[2][k]; }
    m[12] = fx * off[0]; m[13] = fy * off[1]; m[14] = 0; m[15] = d - off[2];
    return m;
  }

  input() {
    const { canvas } = this, held = new Map();
    canvas.onpointerdown = (e) => { held.set(e.pointerId, [e.clientX, e.clientY]); this.held = true; canvas.setPointerCapture(e.pointerId); };
    canvas.onpointermove = (e) => {
      const last = held.get(e.pointerId);
      if (!last) return;
      const now = [e.clientX, e.clientY];
      if (held.size === 2) {
        const other = [...held].find(([id]) => id !== e.pointerId)[1], apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
        this.zoom(apart(last) / Math.max(1, apart(now)));
      } else { this.turn[0] += (now[0] - last[0]) * 0.007; this.turn[1] += (now[1] - last[1]) * 0.007; }
      held.set(e.pointerId, now);
    };
    canvas.onpointerup = canvas.onpointercancel = (e) => { held.delete(e.pointerId); this.held = held.size > 0; };
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(2 ** (e.deltaY / 500)); }, { passive: false });
    canvas.onkeydown = (e) => {
      const turn = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[e.key];
      if (turn) { this.turn[0] += turn[0]; this.turn[1] += turn[1]; }
      else if (e.key === "+" || e.key === "=") this.zoom(0.85);
      else if (e.key === "-") this.zoom(1 / 0.85);
      else if (e.key === " ") this.pause();
      else return;
      e.preventDefault();
    };
  }
  zoom(by) { this.distance = Math.max(0.02, Math.min(200, this.distance * by)); }
}

const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
