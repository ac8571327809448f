// @ts-check
/**
 * The bins: consumers that fill with their partitions. A partition that moves flies from bin to bin, unless the reader
 * prefers reduced motion. Pointing, clicking and keys are in pointing.js.
 * @typedef {import("./layout.js").Layout} Layout
 * @typedef {import("./layout.js").Rect} Rect
 * @typedef {import("./layout.js").Slice} Slice
 */
import { coloursFor } from "./colours.js";
import { drawGroup, drawSlice } from "./drawing.js";
import { layoutOf } from "./layout.js";

const FLIGHT_MS = 1100;
const SETTLE_MS = 450;
const MOST_SETTLING = 120; // partitions: with more, only moving ones are animated
const MOST_FLYING = 400;
const MANY = 60; // consumers: the bins may take most of the window then
const MARGIN = 8; // px around the bins: margin lines reach beyond them

export class Bins {
  /** @param {HTMLCanvasElement} canvas @param {HTMLCanvasElement} overlay @param {HTMLElement} frame */
  constructor(canvas, overlay, frame) {
    this.canvas = canvas;
    this.overlay = overlay;
    this.frame = frame;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    /** @type {import("./types.js").Picture | null} */
    this.picture = null;
    /** @type {Layout | null} */
    this.layout = null;
    /** @type {Map<string, Rect>} where every partition was before this layout */
    this.before = new Map();
    /** @type {Map<string, number | null>} the consumer of every partition, as drawn */
    this.holders = new Map();
    /** @type {{slice: Slice, from: Rect, to: Rect}[]} */
    this.flying = [];
    this.flyingKeys = new Set();
    this.begunMs = 0;
    this.frameRequest = 0;
    /** @type {string[]} */
    this.topics = [];
    /** @type {import("./colours.js").Colours | null} */
    this.colours = null;
    /** @type {import("./picture.js").Place[]} */
    this.places = [];
    /** @type {{consumers: import("./picture.js").Loaded[], unread: import("./picture.js").Place[]}} */
    this.group = { consumers: [], unread: [] };
    this.isDrawn = false;
    /** @type {(pen: CanvasRenderingContext2D) => void} draws the cursor; set by pointing.js */
    this.drawCursor = () => {};
    new ResizeObserver(() => this.#resized()).observe(frame);
  }

  /**
   * Draws this picture.
   * @param {import("./types.js").Picture} picture @param {import("./picture.js").Place[]} places  all of its partitions
   * @param {{consumers: import("./picture.js").Loaded[], unread: import("./picture.js").Place[]}} group
   * @param {boolean} isMotion  whether moves are shown moving
   */
  show(picture, places, group, isMotion) {
    const previous = this.layout;
    Object.assign(this, { picture, places, group });
    this.#colour(Object.keys(picture.topics).sort());
    this.#place();
    /** @type {Map<string, number | null>} */
    const holders = new Map();
    for (const place of places) holders.set(place.key, place.status.consumer);
    const isCalm = this.calm.matches || !isMotion || !previous;
    this.before = previous && !isCalm ? previous.rects : new Map();
    this.flying = isCalm ? [] : this.#flights(holders);
    if (!this.flying.length) this.before = new Map(); // speeds alone differ: nothing has to be seen moving
    this.flyingKeys = new Set(this.flying.map((flight) => flight.slice.places[0].key));
    this.frame.dataset.moved = String(Number(this.frame.dataset.moved ?? 0) + this.flying.length);
    this.holders = holders;
    this.begunMs = performance.now();
    this.#request();
  }

  /** Draws again, in the colours of the theme now. */
  redraw() {
    if (!this.picture) return;
    this.colours = coloursFor(this.topics);
    this.#request();
  }

  /** @param {string[]} topics */
  #colour(topics) {
    if (this.colours && topics.join() === this.topics.join()) return;
    this.topics = topics;
    this.colours = coloursFor(topics);
  }

  #place() {
    if (!this.picture) return;
    const width = this.frame.clientWidth - 2 * MARGIN;
    const { group } = this;
    const share = group.consumers.length > MANY ? 1.05 : 0.66;
    const height = Math.max(330, Math.min(1000, window.innerHeight * share));
    this.layout = layoutOf(group, this.picture.overview.limits, Math.max(40, width), height);
    sized(this.canvas, this.frame.clientWidth, this.layout.height + 2 * MARGIN);
    sized(this.overlay, this.frame.clientWidth, this.layout.height + 2 * MARGIN);
  }

  #resized() {
    if (!this.picture) return;
    this.flying = [];
    this.flyingKeys.clear();
    this.before = new Map();
    this.#place();
    this.#draw(1, 1);
  }

  /** Partitions that another consumer reads now. @param {Map<string, number | null>} holders */
  #flights(holders) {
    const flights = [];
    for (const place of this.places) {
      const old = this.holders.get(place.key);
      const [from, to] = [this.before.get(place.key), this.layout?.rects.get(place.key)];
      if (old === undefined || old === holders.get(place.key) || !from || !to) continue;
      flights.push({ slice: { ...to, places: [place], topic: place.topic }, from, to });
      if (flights.length === MOST_FLYING) break;
    }
    return flights;
  }

  #request() {
    cancelAnimationFrame(this.frameRequest);
    this.frameRequest = requestAnimationFrame((now) => this.#step(now));
  }

  /** @param {number} now */
  #step(now) {
    const passed = now - this.begunMs;
    const settled = this.before.size && this.places.length <= MOST_SETTLING ? Math.min(1, passed / SETTLE_MS) : 1;
    const flown = this.flying.length ? Math.min(1, passed / FLIGHT_MS) : 1;
    if (flown === 1 && this.flying.length) {
      this.flying = [];
      this.flyingKeys.clear();
    }
    this.#draw(Math.max(0, settled), Math.max(0, flown));
    if (settled < 1 || flown < 1) this.#request();
  }

  /** @param {number} settled @param {number} flown  both from 0 to 1 */
  #draw(settled, flown) {
    const { layout, colours } = this;
    if (!layout || !colours) return;
    // Of a large group the bins stand still while partitions fly over them: they are drawn at the begin and at the end.
    const isStill = flown > 0 && flown < 1 && settled === 1 && this.places.length > MOST_SETTLING && this.isDrawn;
    if (!isStill) {
      const eased = ease(settled);
      const pen = cleared(this.canvas);
      drawGroup(pen, layout, colours, (slice) => this.#now(slice, eased));
      this.isDrawn = this.flying.length > 0;
    }
    this.#drawOverlay(flown);
  }

  /** @param {number} [flown] */
  #drawOverlay(flown = 1) {
    const pen = cleared(this.overlay);
    if (this.colours) for (const flight of this.flying) drawSlice(pen, flight.slice, onTheWay(flight, ease(flown)), this.colours);
    this.drawCursor(pen);
  }

  /** Draws the cursor again, and nothing else. */
  pointed() {
    if (!this.flying.length) this.#drawOverlay();
  }

  /** @param {Slice} slice @param {number} eased @returns {Rect | null} */
  #now(slice, eased) {
    if (slice.places.length > 1) return slice;
    const { key } = slice.places[0];
    if (this.flyingKeys.has(key)) return null;
    const from = eased < 1 ? this.before.get(key) : undefined;
    return from ? between(from, slice, eased) : slice;
  }
}

/** @param {number} part */
function ease(part) {
  return part < 0.5 ? 4 * part ** 3 : 1 - (-2 * part + 2) ** 3 / 2;
}

/** @param {Rect} from @param {Rect} to @param {number} part @returns {Rect} */
function between(from, to, part) {
  const mix = (/** @type {number} */ a, /** @type {number} */ b) => a + (b - a) * part;
  return { x: mix(from.x, to.x), y: mix(from.y, to.y), w: mix(from.w, to.w), h: mix(from.h, to.h) };
}

/** In an arc over the rims, and never too thin to be seen. @param {{from: Rect, to: Rect}} flight @param {number} part */
function onTheWay({ from, to }, part) {
  const rect = between(from, to, part);
  const lift = Math.min(90, 24 + Math.abs(to.x - from.x) / 6);
  const h = Math.max(rect.h, 6);
  return { ...rect, y: Math.max(0, rect.y - lift * Math.sin(Math.PI * part)), h };
}

/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.height = `${height}px`;
  }
}

/** @param {HTMLCanvasElement} canvas */
function cleared(canvas) {
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const ratio = window.devicePixelRatio || 1;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.setTransform(ratio, 0, 0, ratio, MARGIN * ratio, MARGIN * ratio);
  return pen;
}

export { MARGIN };
