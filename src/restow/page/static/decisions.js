// @ts-check
/** Decisions as a log with their reasons, newest first. */
import { byId, element, timeElement } from "./dom.js";
import { clock, counted, utc } from "./units.js";

const FIRST = 6;
const REASONS = 2;

/** @typedef {import("./types.js").Decision} Decision */

export class Decisions {
  constructor() {
    /** @type {Map<string, Decision>} by time and summary */
    this.known = new Map();
    this.isAll = false;
    this.drawn = "";
    /** @type {string | null} */
    this.until = null;
    byId("decisions-more").addEventListener("click", () => {
      this.isAll = !this.isAll;
      this.#draw();
    });
  }

  /** Adds decisions; known ones stay as they are. @param {Decision[]} decisions */
  add(decisions) {
    for (const decision of decisions) {
      const key = `${decision.time} ${decision.summary}`;
      if (!this.known.has(key)) this.known.set(key, decision);
    }
    this.#draw();
  }

  /** Shows those up to this moment. @param {string | null} time */
  showUntil(time) {
    this.until = time;
    this.#draw();
  }

  #draw() {
    const all = [...this.known.values()]
      .filter((each) => this.until === null || each.time <= this.until)
      .sort((one, other) => (one.time < other.time ? 1 : -1));
    const shown = this.isAll ? all : all.slice(0, FIRST);
    const drawn = shown.map((each) => each.time).join() + all.length + this.isAll;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const items = shown.length ? shown.map(itemOf) : [element("li", { class: "none" }, "No decision is known yet.")];
    byId("decisions").replaceChildren(...items);
    const more = byId("decisions-more");
    more.hidden = all.length <= FIRST;
    more.textContent = this.isAll ? "Show the newest only" : `Show all ${all.length}`;
  }
}

/** @param {Decision} decision */
function itemOf(decision) {
  const { time, cause, summary, reasons = [], more_reasons: left = 0, recommended } = decision;
  const isLong = reasons.length > REASONS || left > 0;
  return element(
    "li",
    {},
    timeElement(time, clock(time), utc(time)),
    element("p", { class: "summary" }, recommended ? element("span", { class: "tag" }, "recommended") : null, summary),
    cause ? element("p", { class: "cause" }, `because ${cause}`) : null,
    isLong ? folded(reasons, left) : listOf(reasons),
  );
}

/** @param {string[]} reasons @param {number} left */
function folded(reasons, left) {
  const more = left ? [`and ${counted(left, "reason")} more, which \`restow replay\` has`] : [];
  const summary = element("summary", {}, counted(reasons.length + left, "reason"));
  return element("details", {}, summary, listOf([...reasons, ...more]));
}

/** @param {string[]} reasons */
function listOf(reasons) {
  return element("ul", { class: "reasons" }, ...reasons.map((reason) => element("li", {}, reason)));
}
