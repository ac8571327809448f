// @ts-check
/**
 * The panel of a partition or a consumer: what it is now, its last day, and its explanation.
 * @typedef {import("./types.js").Subject} Subject
 * @typedef {import("./types.js").Picture} Picture
 */
import { Chart } from "./chart.js";
import { byId, element } from "./dom.js";
import { costOf } from "./picture.js";
import { get } from "./server.js";
import { clock, counted, grouped, lagWords, percent, span, speed, utc } from "./units.js";

const MOST_LISTED = 60;

export class Panel {
  constructor() {
    this.element = byId("panel");
    this.body = byId("panel-body");
    /** @type {Subject | null} */
    this.subject = null;
    /** @type {Picture | null} */
    this.picture = null;
    /** @type {Element | null} where the focus returns to */
    this.opener = null;
    this.abort = new AbortController();
    this.facts = element("dl", { class: "facts" });
    byId("panel-close").addEventListener("click", () => this.close());
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.element.hidden) this.close();
    });
  }

  /** @param {Subject} subject */
  open = (subject) => {
    if (this.element.hidden) this.opener = document.activeElement;
    this.subject = subject;
    this.element.hidden = false;
    document.body.classList.add("has-panel");
    byId("panel-title").textContent = nameOf(subject);
    this.facts = element("dl", { class: "facts" });
    const later = element("div", {}, element("p", { class: "quietly" }, "Reading its last day…"));
    this.body.replaceChildren(this.facts, later, this.#partitions());
    this.update(this.picture);
    byId("panel-title").focus();
    this.#fetch(subject, later);
  };

  close() {
    this.element.hidden = true;
    this.subject = null;
    this.abort.abort();
    document.body.classList.remove("has-panel");
    if (this.opener instanceof HTMLElement) this.opener.focus();
  }

  /** The figures of the picture that is shown. @param {Picture | null} picture */
  update(picture) {
    this.picture = picture;
    if (!this.subject || !picture) return;
    const facts = this.subject.kind === "consumer" ? consumerFacts(picture, this.subject.number) : partitionFacts(picture, this.subject);
    const rows = facts.flatMap(([name, words, title]) => [element("dt", {}, name), element("dd", { title }, words)]);
    this.facts.replaceChildren(...rows);
  }

  /** @param {Subject} subject @param {HTMLElement} place */
  async #fetch(subject, place) {
    this.abort.abort();
    this.abort = new AbortController();
    try {
      const answer = await get(pathOf(subject), this.abort.signal);
      place.replaceChildren(...explanationOf(answer.explanation ?? []));
      this.#charts(place, subject, answer);
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return;
      place.replaceChildren(element("p", { class: "quietly" }, `Its history can't be read: ${error instanceof Error ? error.message : error}`));
    }
  }

  /** @param {HTMLElement} place @param {Subject} subject @param {any} answer */
  #charts(place, subject, answer) {
    const times = (answer.times ?? []).map((/** @type {string} */ time) => Date.parse(time));
    if (times.length < 2) return;
    const isConsumer = subject.kind === "consumer";
    const common = { times, fromMs: times[0], toMs: times[times.length - 1] };
    const draw = (/** @type {string} */ title, /** @type {any} */ values, /** @type {any} */ more) => {
      if (!values?.some((/** @type {unknown} */ value) => value !== null)) return;
      const host = element("div");
      place.append(element("h3", {}, title), host);
      new Chart(host, 110, title).draw({ ...common, ...more, lines: [{ name: title, values, ...more.line }] });
    };
    const area = { className: "load", form: "area" };
    draw(isConsumer ? "Load" : "Write speed", answer.load_bytes_per_s ?? answer.bytes_per_s, { format: speed, line: area });
    draw("Seconds behind", answer.lag_seconds, { format: span, line: { className: "lag", form: "area" } });
    const steps = { format: grouped, isWhole: true, line: { className: "consumers", form: isConsumer ? "stepArea" : "step" } };
    draw(isConsumer ? "Partitions" : "Read by consumer number", isConsumer ? answer.partitions : answer.consumer, steps);
  }

  /** The partitions of a consumer, fastest first. */
  #partitions() {
    const { subject, picture } = this;
    if (subject?.kind !== "consumer" || !picture) return element("div");
    const held = Object.entries(picture.topics)
      .flatMap(([topic, rows]) => Object.entries(rows).map(([number, status]) => ({ topic, number: Number(number), status })))
      .filter(({ status }) => status.consumer === subject.number)
      .sort((one, other) => (other.status.bytes_per_s ?? 0) - (one.status.bytes_per_s ?? 0));
    const items = held.slice(0, MOST_LISTED).map(({ topic, number, status }) => {
      const button = element("button", { type: "button", class: "as-link" }, `${topic}-${number}`);
      button.addEventListener("click", () => this.open({ kind: "partition", topic, number }));
      return element("li", {}, button, element("span", {}, status.bytes_per_s === null ? "not measured" : speed(status.bytes_per_s)));
    });
    const left = held.length - items.length;
    if (left > 0) items.push(element("li", {}, `and ${left} slower ones`));
    return element("section", {}, element("h3", {}, "Its partitions, fastest first"), element("ul", { class: "held" }, ...items));
  }
}

/** @param {Subject} subject */
function nameOf(subject) {
  return subject.kind === "consumer" ? `Consumer ${subject.number}` : `${subject.topic}-${subject.number}`;
}

/** @param {Subject} subject */
function pathOf(subject) {
  return subject.kind === "consumer" ? `/api/consumer/${subject.number}` : `/api/partition/${encodeURIComponent(subject.topic)}/${subject.number}`;
}

/** @typedef {[string, string, string?][]} Facts  name, words, and UTC or more on hover */

/** @param {Picture} picture @param {number} number @returns {Facts} */
function consumerFacts(picture, number) {
  const status = picture.consumers[number];
  if (!status) return [["state", "it does not exist at this time"]];
  /** @type {Facts} */
  const facts = [
    ["state", `${status.phase}${status.spare ? ", a spare," : ""} since ${clock(status.since)}`, utc(status.since)],
    ["load", `${speed(status.load_bytes_per_s)}, ${percent(status.load_bytes_per_s / status.capacity_bytes_per_s)} of its capacity`],
    ["capacity", `${speed(status.capacity_bytes_per_s)}, ${capacityWords(picture, status)}`],
    ["partitions", grouped(status.partitions)],
    ["lag", lagWords(status.lag)],
  ];
  if (typeof status.bytes_per_s === "number") facts.push(["stores", `${speed(status.bytes_per_s)}${status.saturated ? ", without idling" : ""}`]);
  if (typeof status.cycle_s_mean === "number") facts.push(["cycles", `${span(status.cycle_s_mean)}, slowest ${span(status.cycle_s_max ?? status.cycle_s_mean)}`]);
  if (status.restarts) facts.push(["restarts", grouped(status.restarts)]);
  if (status.settings) facts.push(["settings", status.settings + (status.outdated ? ", older than the newest" : "")]);
  if (status.silent_s) facts.push(["last message", `${span(status.silent_s)} before the picture`]);
  return facts;
}

/** @param {Picture} picture @param {import("./types.js").Consumer} status */
function capacityWords(picture, status) {
  if (!picture.overview.limits.capacity_is_learned) return "fixed by the settings";
  return status.learned ? "learned from its cycles" : "assumed until it is learned";
}

/** @param {Picture} picture @param {string} topic @returns {Facts} */
function costFacts(picture, topic) {
  const cost = costOf(picture, topic);
  if (cost === null) return [];
  const how = picture.overview.fixed_costs?.[topic] === undefined ? "learned" : "fixed by its definition";
  return [["cost", `${cost.toFixed(2)} times the mean of all topics per byte, ${how}`]];
}

/** @param {Picture} picture @param {{topic: string, number: number}} subject @returns {Facts} */
function partitionFacts(picture, { topic, number }) {
  const status = picture.topics[topic]?.[number];
  if (!status) return [["state", "the group does not consume it at this time"]];
  const since = status.since ? ` since ${clock(status.since)}` : "";
  /** @type {Facts} */
  const facts = [
    ["read by", status.consumer === null ? `no consumer${since}` : `consumer ${status.consumer}${since}`, status.since ? utc(status.since) : undefined],
    ["written at", status.bytes_per_s === null ? "not measured yet" : speed(status.bytes_per_s)],
    ...costFacts(picture, topic),
    ["lag", lagWords(status.lag)],
  ];
  if (status.stuck) facts.push(["stuck", "its backlog does not shrink although its consumer has room; it counts as no load"]);
  if (typeof status.catch_up_s === "number") facts.push(["caught up in", span(status.catch_up_s)]);
  if (typeof status.retention_margin_s === "number") facts.push(["deleted unread in", span(status.retention_margin_s)]);
  if (typeof status.moving_to === "number") facts.push(["moves to", `consumer ${status.moving_to}`]);
  if (typeof status.waits_for === "number") facts.push(["waits for", `consumer ${status.waits_for}, which restarts`]);
  const pin = picture.overview.pins?.[topic]?.[number];
  if (pin) facts.push(["pinned", pinWords(pin), pin.until ? utc(pin.until) : undefined]);
  if (typeof status.refused_for_s === "number") facts.push(["refused", `tried again in ${counted(Math.round(status.refused_for_s), "second")}`]);
  return facts;
}

/** @param {import("./types.js").Request & {consumer: number}} pin */
function pinWords({ consumer, until, by, reason }) {
  const end = until ? ` until ${clock(until)}` : "";
  return `to consumer ${consumer}${end}${by ? ` by ${by}` : ""}${reason ? `: ${reason}` : ""}`;
}

/** Lines as `restow explain` prints them: indented ones belong to the one above. @param {string[]} lines */
function explanationOf(lines) {
  if (!lines.length) return [];
  const items = lines.map((line) => {
    const depth = Math.min(2, Math.floor((line.length - line.trimStart().length) / 2));
    return element("li", { class: `depth-${depth}` }, line.trim());
  });
  return [element("h3", {}, "Why"), element("ul", { class: "explanation" }, ...items)];
}
