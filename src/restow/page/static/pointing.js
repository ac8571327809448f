// @ts-check
/**
 * The pointer and the keys over the bins: left and right go from consumer to consumer, up and down from partition to
 * partition, Enter opens. What the cursor is on is shown beside it and read out.
 * @typedef {import("./layout.js").Bin} Bin
 * @typedef {import("./layout.js").Slice} Slice
 * @typedef {{bin: Bin, slice: Slice | null}} Target
 */
import { MARGIN } from "./bins.js";
import { element, setText } from "./dom.js";
import { consumerLines, sliceLines } from "./words.js";

export class Pointing {
  /**
   * @param {import("./bins.js").Bins} bins @param {HTMLElement} tip @param {HTMLElement} spoken
   * @param {(subject: import("./types.js").Subject) => void} open
   */
  constructor(bins, tip, spoken, open) {
    this.bins = bins;
    this.tip = tip;
    this.spoken = spoken;
    this.open = open;
    /** @type {{bin: number, slice: number}} -1: the bin itself */
    this.cursor = { bin: 0, slice: -1 };
    this.isFocused = false;
    /** @type {{bin: number, slice: number} | null} */
    this.hovered = null;
    bins.drawCursor = (pen) => this.#draw(pen);
    this.#listen(bins.frame);
  }

  /** @param {HTMLElement} frame */
  #listen(frame) {
    frame.addEventListener("pointermove", (event) => this.#hover(event));
    frame.addEventListener("pointerleave", () => this.#hovered(null));
    frame.addEventListener("click", (event) => this.#open(this.#target(this.#at(event))));
    frame.addEventListener("keydown", (event) => this.#key(event));
    frame.addEventListener("focus", () => this.#focused(frame.matches(":focus-visible")));
    frame.addEventListener("blur", () => this.#focused(false));
  }

  /** @param {MouseEvent} event @returns {{bin: number, slice: number} | null} */
  #at(event) {
    const box = this.bins.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - MARGIN, event.clientY - box.top - MARGIN];
    const { layout } = this.bins;
    if (!layout) return null;
    const bin = layout.bins.findIndex((each) => {
      const isWithin = x >= each.x && x < each.x + each.w;
      return isWithin && y >= each.top && y < each.base + layout.size.label;
    });
    if (bin < 0) return null;
    return { bin, slice: layout.bins[bin].slices.findIndex((slice) => y >= slice.y && y < slice.y + slice.h) };
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const at = this.#at(event);
    this.#hovered(at);
    if (at) this.#tipAt(event.clientX, event.clientY);
  }

  /** @param {{bin: number, slice: number} | null} at */
  #hovered(at) {
    const isSame = at?.bin === this.hovered?.bin && at?.slice === this.hovered?.slice;
    this.hovered = at;
    this.bins.frame.classList.toggle("is-pointing", at !== null);
    if (isSame) return;
    this.#showTip(this.#target(at));
    this.bins.pointed();
  }

  /** @param {Target | null} target */
  #showTip(target) {
    this.tip.hidden = target === null;
    if (!target) return;
    const [first, ...rest] = linesOf(target);
    this.tip.replaceChildren(element("strong", {}, first), ...rest.map((line) => element("div", {}, line)));
  }

  /** @param {number} x @param {number} y */
  #tipAt(x, y) {
    const { offsetWidth: w, offsetHeight: h } = this.tip;
    this.tip.style.left = `${Math.max(8, Math.min(x + 14, window.innerWidth - w - 8))}px`;
    this.tip.style.top = `${y + 18 + h > window.innerHeight ? y - h - 12 : y + 18}px`;
  }

  /** @param {boolean} isFocused */
  #focused(isFocused) {
    this.isFocused = isFocused;
    if (isFocused) this.#moved();
    else this.tip.hidden = true;
    this.bins.pointed();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const count = this.bins.layout?.bins.length ?? 0;
    if (!count) return;
    const columns = this.bins.layout?.columns ?? 1;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -columns, PageDown: columns, Home: -count, End: count };
    if (event.key in steps) this.#step(steps[/** @type {keyof typeof steps} */ (event.key)]);
    else if (event.key === "ArrowUp") this.#climb(1);
    else if (event.key === "ArrowDown") this.#climb(-1);
    else if (event.key === "Enter" || event.key === " ") this.#open(this.#target(this.cursor));
    else return;
    event.preventDefault();
  }

  /** @param {number} by */
  #step(by) {
    const last = (this.bins.layout?.bins.length ?? 1) - 1;
    this.cursor = { bin: Math.max(0, Math.min(last, this.cursor.bin + by)), slice: -1 };
    this.#moved();
  }

  /** @param {number} by */
  #climb(by) {
    const slices = this.bins.layout?.bins[this.cursor.bin]?.slices.length ?? 0;
    this.cursor.slice = Math.max(-1, Math.min(slices - 1, this.cursor.slice + by));
    this.#moved();
  }

  #moved() {
    this.isFocused = true;
    const target = this.#target(this.cursor);
    if (!target) return;
    setText(this.spoken, linesOf(target).join(". "));
    this.#showTip(target);
    const box = this.bins.canvas.getBoundingClientRect();
    const top = target.slice ? target.slice.y : target.bin.base;
    this.#tipAt(box.left + target.bin.x + target.bin.w / 2, box.top + top + 16);
    this.bins.pointed();
  }

  /** What is there in the layout of now. @param {{bin: number, slice: number} | null} at @returns {Target | null} */
  #target(at) {
    const bin = at && this.bins.layout?.bins[at.bin];
    return bin ? { bin, slice: bin.slices[at.slice] ?? null } : null;
  }

  /** @param {Target | null} target */
  #open(target) {
    if (!target) return;
    const only = target.slice?.places.length === 1 ? target.slice.places[0] : null;
    if (only) this.open({ kind: "partition", topic: only.topic, number: only.number });
    else if (target.bin.loaded) this.open({ kind: "consumer", number: target.bin.loaded.number });
  }

  /** @param {CanvasRenderingContext2D} pen */
  #draw(pen) {
    const target = this.#target(this.isFocused ? this.cursor : this.hovered);
    if (!target || !this.bins.colours) return;
    const { bin, slice } = target;
    pen.strokeStyle = this.isFocused ? this.bins.colours.focus : this.bins.colours.ink;
    pen.lineWidth = this.isFocused ? 3 : 1.5;
    if (slice) pen.strokeRect(slice.x - 1, slice.y, slice.w + 2, Math.max(2, slice.h));
    else pen.strokeRect(bin.x - 3, Math.min(bin.rim, bin.base - 20) - 3, bin.w + 6, bin.base - Math.min(bin.rim, bin.base - 20) + 6);
  }
}

/** @param {Target} target */
function linesOf({ bin, slice }) {
  if (slice) return sliceLines(slice);
  if (bin.loaded) return consumerLines(bin.loaded);
  const count = bin.slices.reduce((sum, each) => sum + each.places.length, 0);
  return [`${count === 1 ? "1 partition" : `${count} partitions`} without a consumer`];
}
