// @ts-check
/**
 * A chart over time, in SVG: areas, lines and steps over one axis from zero, with a cursor.
 * @typedef {object} Line
 * @property {string} name
 * @property {(number | null)[]} values
 * @property {string} className
 * @property {"line" | "step" | "area" | "stepArea"} form
 *
 * @typedef {object} ChartData
 * @property {number[]} times  milliseconds, ascending
 * @property {number} fromMs
 * @property {number} toMs
 * @property {Line[]} lines
 * @property {{value: number, words: string, className: string} | null} [level]  a horizontal line
 * @property {number[]} [ticks]  moments to mark on the axis of time
 * @property {(value: number) => string} format
 * @property {boolean} [isWhole]  the axis has whole numbers only
 */
import { shape } from "./dom.js";
import { hourMinute } from "./units.js";

const TOP = 14;
const BOTTOM = 20;
const LEFT = 2;

export class Chart {
  /** @param {HTMLElement} host @param {number} height @param {string} label */
  constructor(host, height, label) {
    this.host = host;
    this.height = height;
    this.svg = shape("svg", { class: "chart", role: "img", "aria-label": label, height });
    host.append(this.svg);
    /** @type {ChartData | null} */
    this.data = null;
    this.width = 0;
    this.most = 1;
    /** @type {SVGElement | null} */
    this.cursor = null;
    new ResizeObserver(() => this.#resized()).observe(host);
  }

  #resized() {
    if (this.data && this.host.clientWidth !== this.width) this.draw(this.data);
  }

  /** @param {ChartData} data */
  draw(data) {
    this.data = data;
    this.width = Math.max(120, this.host.clientWidth);
    this.most = ceiling(data);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    const floor = this.height - BOTTOM;
    const parts = [this.#grid(data, floor)];
    for (const line of data.lines) parts.push(this.#line(line, data, floor));
    if (data.level) parts.push(this.#level(data.level));
    parts.push(this.#ticks(data, floor));
    this.cursor = shape("line", { class: "chart-cursor", y1: TOP - 6, y2: floor, visibility: "hidden" });
    this.svg.replaceChildren(...parts, this.#scale(data), this.cursor);
  }

  /** The moment under a point of the window. @param {number} clientX */
  momentAt(clientX) {
    const box = this.svg.getBoundingClientRect();
    if (!this.data || !box.width) return null;
    const part = Math.max(0, Math.min(1, (clientX - box.left - LEFT) / (box.width - 2 * LEFT)));
    return this.data.fromMs + part * (this.data.toMs - this.data.fromMs);
  }

  /** @param {number | null} ms */
  pointAt(ms) {
    if (!this.data || !this.cursor) return;
    const isShown = ms !== null && ms >= this.data.fromMs;
    this.cursor.setAttribute("visibility", isShown ? "visible" : "hidden");
    if (!isShown) return;
    const x = String(this.#x(ms, this.data));
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
  }

  /** @param {number} ms @param {ChartData} data */
  #x(ms, data) {
    return LEFT + ((ms - data.fromMs) / (data.toMs - data.fromMs || 1)) * (this.width - 2 * LEFT);
  }

  /** @param {number} value */
  #y(value) {
    return this.height - BOTTOM - (value / this.most) * (this.height - BOTTOM - TOP);
  }

  /** @param {ChartData} data @param {number} floor */
  #grid(data, floor) {
    const group = shape("g", { class: "chart-grid" });
    for (const value of [0, ...this.#marks(data)]) {
      group.append(shape("line", { x1: LEFT, x2: this.width - LEFT, y1: this.#y(value), y2: this.#y(value) }));
    }
    const count = this.width < 320 ? 2 : 4;
    for (let index = 0; index <= count; index++) {
      const ms = data.fromMs + (index / count) * (data.toMs - data.fromMs);
      const anchor = index === 0 ? "start" : index === count ? "end" : "middle";
      group.append(shape("text", { x: this.#x(ms, data), y: floor + 15, "text-anchor": anchor }, hourMinute(ms)));
    }
    return group;
  }

  /** @param {ChartData} data */
  #marks(data) {
    return [this.most / 2, this.most].filter((value) => !data.isWhole || value % 1 === 0);
  }

  /** Over the lines, so that they can be read. @param {ChartData} data */
  #scale(data) {
    const texts = this.#marks(data).map((value) => shape("text", { x: LEFT + 2, y: this.#y(value) - 4 }, data.format(value)));
    return shape("g", { class: "chart-scale" }, ...texts);
  }

  /** @param {Line} line @param {ChartData} data @param {number} floor */
  #line(line, data, floor) {
    const isStep = line.form === "step" || line.form === "stepArea";
    const isArea = line.form === "area" || line.form === "stepArea";
    const d = runs(line.values)
      .map(([first, last]) => this.#run(line.values, data, first, last, isStep, isArea ? floor : null))
      .join("");
    return shape("path", { d, class: line.className });
  }

  /**
   * One stretch without gaps.
   * @param {(number | null)[]} values @param {ChartData} data @param {number} first @param {number} last
   * @param {boolean} isStep @param {number | null} floor
   */
  #run(values, data, first, last, isStep, floor) {
    const at = (/** @type {number} */ index) => this.#x(data.times[index], data).toFixed(1);
    const end = this.#x(Math.min(data.toMs, data.times[last + 1] ?? data.toMs), data).toFixed(1);
    let d = floor === null ? "" : `M${at(first)},${floor}`;
    for (let index = first; index <= last; index++) {
      const y = this.#y(values[index] ?? 0).toFixed(1);
      if (index === first) d += `${floor === null ? "M" : "L"}${at(index)},${y}`;
      else d += isStep ? `H${at(index)}V${y}` : `L${at(index)},${y}`;
    }
    d += `H${end}`;
    return floor === null ? d : `${d}V${floor}Z`;
  }

  /** @param {{value: number, words: string, className: string}} level */
  #level({ value, words, className }) {
    const y = this.#y(value);
    const text = shape("text", { x: this.width - LEFT, y: y - 5, "text-anchor": "end" }, words);
    return shape("g", { class: className }, shape("line", { x1: LEFT, x2: this.width - LEFT, y1: y, y2: y }), text);
  }

  /** @param {ChartData} data @param {number} floor */
  #ticks(data, floor) {
    const d = (data.ticks ?? []).map((ms) => `M${this.#x(ms, data).toFixed(1)},${floor}v5`).join("");
    return shape("path", { class: "chart-ticks", d });
  }
}

/** The first and last index of each stretch of known values. @param {(number | null)[]} values @returns {[number, number][]} */
export function runs(values) {
  /** @type {[number, number][]} */
  const found = [];
  for (const [index, value] of values.entries()) {
    if (value === null || value === undefined) continue;
    const last = found[found.length - 1];
    if (last && last[1] === index - 1) last[1] = index;
    else found.push([index, index]);
  }
  return found;
}

/** A round number above everything that is drawn. @param {ChartData} data */
function ceiling(data) {
  let most = data.level?.value ?? 0;
  for (const line of data.lines) for (const value of line.values) if (value !== null && value > most) most = value;
  if (data.isWhole) return Math.max(2, 2 * Math.ceil(most / 2));
  if (!most) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((value) => value >= most) ?? most;
}
