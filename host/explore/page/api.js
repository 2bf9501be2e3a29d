// The requests of the page, and the binary forms of the server's answers (see tile.rs and server.rs).

const token = new URLSearchParams(location.search).get("token");

/** An answer that is a refusal: `option`, `given` and `allowed` name a value that is not allowed. */
export class Refused extends Error {
  constructor(status, body) {
    super(body.error ?? `The server answered ${status}.`);
    Object.assign(this, { status }, body);
  }
}

async function ask(path, options) {
  const headers = { ...(options.body && { "Content-Type": "application/json" }), ...(token && { "X-Trisolar-Token": token }) };
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  throw new Refused(response.status, await response.json().catch(() => ({})));
}

export const get = async (path) => (await ask(path, {})).json();
export const open = (path, signal) => ask(path, { signal });
export const post = (path, body, signal) => ask(path, { method: "POST", body: JSON.stringify(body), signal });

/** Reads exact numbers of bytes from a streamed body. */
export class Bytes {
  #reader; #pieces = []; #length = 0;
  constructor(response) { this.#reader = response.body.getReader(); }

  /** `count` bytes, or null at the end of the stream. */
  async take(count) {
    while (this.#length < count) {
      const { value, done } = await this.#reader.read();
      if (done) return null;
      this.#pieces.push(value);
      this.#length += value.length;
    }
    // Copied, because typed arrays of 4 and 8 bytes must be aligned.
    const bytes = new Uint8Array(count);
    let filled = 0;
    while (filled < count) {
      const piece = this.#pieces[0], part = piece.subarray(0, count - filled);
      bytes.set(part, filled);
      filled += part.length;
      if (part.length === piece.length) this.#pieces.shift(); else this.#pieces[0] = piece.subarray(part.length);
    }
    this.#length -= count;
    return bytes;
  }
}

const HEADER = 16;

function values(tag, buffer) {
  if (tag === 1) return new Uint32Array(buffer);
  if (tag === 2) return new Float64Array(buffer);
  if (tag === 3) {
    // Pairs of a class and a quantity.
    const pairs = new Float64Array(buffer), count = pairs.length / 2;
    return Object.assign(Float64Array.from({ length: count }, (_, k) => pairs[2 * k + 1]), { classes: Uint8Array.from({ length: count }, (_, k) => pairs[2 * k]) });
  }
  throw new Error(new TextDecoder().decode(buffer));
}

/** Tiles of a request as they come: { index, pixels, values }. */
export async function* tiles(request, signal) {
  const bytes = new Bytes(await post("/api/tiles", request, signal));
  for (let head; (head = await bytes.take(HEADER));) {
    const view = new DataView(head.buffer);
    const payload = await bytes.take(view.getUint32(12, true));
    if (!payload) return;
    yield { index: view.getUint16(6, true), pixels: view.getUint32(8, true), values: values(view.getUint8(4), payload.buffer) };
  }
}

async function headed(response) {
  const buffer = await response.arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  return [JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))), buffer.slice(4 + length)];
}

/** The orbit of a pixel: { summary, columns, rows, samples }. */
export async function orbit(request, signal) {
  const [head, buffer] = await headed(await post("/api/orbit", request, signal));
  const samples = new Float64Array(buffer);
  return { ...head, samples, rows: samples.length / head.columns.length };
}

/** The quantity along a line. */
export async function line(request, signal) {
  const [, buffer] = await headed(await post("/api/line", request, signal));
  return values(new DataView(buffer).getUint8(4), buffer.slice(HEADER));
}
