// @ts-check
/**
 * The group over time: consumers, load and lag, and the slider back through the last day.
 * @typedef {import("./types.js").Series} Series
 */
import { Chart } from "./chart.js";
import { byId, element, setText } from "./dom.js";
import { bridged } from "./gaps.js";
import { hoursText, savingsOf } from "./savings.js";
import { get } from "./server.js";
import { clock, counted, grouped, roughly, span, speed, utc, wholePercent } from "./units.js";

const WINDOWS = [
  { words: "15 min", s: 900 },
  { words: "1 h", s: 3600 },
  { words: "6 h", s: 21600 },
  { words: "24 h", s: 86400 },
];
const POINTS = 300;
const EVERY_MS = 10_000; // whole pictures come as often

export class History {
  /** @param {(ms: number | null) => void} onTime  a moment of the past, or null for now */
  constructor(onTime) {
    this.onTime = onTime;
    this.windowS = 3600;
    /** @type {Series | null} */
    this.series = null;
    /** @type {number[]} */
    this.times = [];
    this.toMs = Date.now();
    /** @type {number | null} */
    this.shownMs = null;
    this.abort = new AbortController();
    this.charts = {
      consumers: new Chart(byId("chart-consumers"), 150, "Consumers over time"),
      load: new Chart(byId("chart-load"), 150, "Load and capacity over time"),
      lag: new Chart(byId("chart-lag"), 150, "Lag over time"),
    };
    this.slider = /** @type {HTMLInputElement} */ (byId("slider"));
    this.#listen();
  }

  #listen() {
    byId("windows").append(...WINDOWS.map((each) => this.#windowButton(each)));
    this.slider.addEventListener("input", () => this.#slid());
    byId("live").addEventListener("click", () => this.goLive());
    for (const chart of Object.values(this.charts)) {
      chart.host.addEventListener("pointermove", (event) => this.#read(chart.momentAt(event.clientX)));
      chart.host.addEventListener("pointerleave", () => this.#read(this.shownMs));
      chart.host.addEventListener("click", (event) => this.goTo(chart.momentAt(event.clientX)));
    }
    setInterval(() => document.hidden || this.refresh(), EVERY_MS);
  }

  /** @param {{words: string, s: number}} each */
  #windowButton({ words, s }) {
    const button = element("button", { type: "button", "aria-pressed": String(s === this.windowS) }, words);
    button.addEventListener("click", () => {
      this.windowS = s;
      for (const other of byId("windows").children) other.setAttribute("aria-pressed", String(other === button));
      this.refresh();
    });
    return button;
  }

  /** Asks the server for the time that is shown. A failure leaves the charts as they are; the next try comes soon. */
  async refresh() {
    this.abort.abort();
    this.abort = new AbortController();
    const toMs = Date.now();
    const query = new URLSearchParams({
      from: new Date(toMs - this.windowS * 1000).toISOString(),
      to: new Date(toMs).toISOString(),
      points: String(POINTS),
    });
    try {
      const series = /** @type {Series} */ (await get(`/api/history?${query}`, this.abort.signal));
      this.toMs = toMs;
      this.times = series.times.map((time) => Date.parse(time));
      this.series = withoutGaps(series, this.times);
      this.#draw();
      this.onSeries(series);
    } catch {
      return;
    }
  }

  /** @type {(series: Series) => void} */
  onSeries = () => {};

  #draw() {
    const { series, times, toMs } = this;
    if (!series) return;
    const fromMs = toMs - this.windowS * 1000;
    const ticks = series.decisions.map((decision) => Date.parse(decision.time)).filter((ms) => ms >= fromMs);
    const common = { times, fromMs, toMs, ticks };
    const saved = savingsOf(times, series.consumers, toMs);
    this.charts.consumers.draw({
      ...common,
      isWhole: true,
      format: grouped,
      lines: [
        { name: "saved", values: series.consumers.map((count) => count && (saved?.most ?? null)), className: "saved", form: "stepArea" },
        { name: "consumers", values: series.consumers, className: "consumers", form: "stepArea" },
      ],
      level: saved && { value: saved.most, words: `a fixed group of ${saved.most}`, className: "level" },
    });
    this.charts.load.draw({
      ...common,
      format: speed,
      lines: [
        { name: "capacity", values: series.capacity_bytes_per_s, className: "capacity", form: "stepArea" },
        { name: "load", values: series.load_bytes_per_s, className: "load", form: "area" },
      ],
    });
    this.charts.lag.draw({
      ...common,
      format: span,
      lines: [{ name: "behind", values: series.lag_seconds_max, className: "lag", form: "area" }],
    });
    this.#words(saved);
    this.#read(this.shownMs);
  }

  /** @param {import("./savings.js").Savings | null} saved */
  #words(saved) {
    if (!saved) return setText(byId("saved"), "no history yet");
    const less = 1 - saved.hours / saved.fixedHours;
    const against =
      less < 0.005
        ? `as many as a fixed group of ${saved.most}, the most that ran in this time`
        : `a fixed group of ${saved.most}, the most that ran in this time, would have used ` +
          `${hoursText(saved.fixedHours)}: ${wholePercent(less)} saved`;
    setText(byId("saved"), `${hoursText(saved.hours)} consumer-hours in ${roughly(saved.knownS)}; ${against}`);
  }

  /** The values at a moment, under each chart. @param {number | null} ms */
  #read(ms) {
    for (const chart of Object.values(this.charts)) chart.pointAt(ms);
    const { series, times } = this;
    if (!series) return;
    let index = ms === null ? -1 : times.findLastIndex((time) => time <= ms);
    if (ms === null) index = series.consumers.findLastIndex((count) => count !== null);
    const at = index < 0 ? "" : `${ms === null ? "newest" : clock(times[index])}: `;
    const value = (/** @type {(number | null)[]} */ values) => (index < 0 ? null : (values[index] ?? null));
    const say = (/** @type {string} */ id, /** @type {string | null} */ words) =>
      setText(byId(id), words === null ? `${at}not known` : at + words);
    const [consumers, load, capacity] = [series.consumers, series.load_bytes_per_s, series.capacity_bytes_per_s].map(value);
    const [records, behind] = [series.lag_records, series.lag_seconds_max].map(value);
    say("read-consumers", consumers === null ? null : counted(consumers, "consumer"));
    const carried = capacity === null ? ", no controller ran" : ` of ${speed(capacity)}`;
    say("read-load", load === null ? null : speed(load) + carried);
    say("read-lag", records === null ? null : `${behind === null ? "age unknown" : span(behind)}, ${counted(records, "record")}`);
  }

  #slid() {
    const part = Number(this.slider.value) / Number(this.slider.max);
    if (part >= 1) this.goLive();
    else this.goTo(this.toMs - (1 - part) * this.windowS * 1000);
  }

  /** @param {number | null} ms */
  goTo(ms) {
    if (ms === null) return;
    if (this.toMs - ms < (this.windowS * 1000) / 500) return this.goLive();
    this.#show(ms);
    this.slider.value = String(Number(this.slider.max) * (1 - (this.toMs - ms) / (this.windowS * 1000)));
    setText(byId("slider-at"), clock(ms));
    byId("slider-at").title = utc(ms);
    this.slider.setAttribute("aria-valuetext", clock(ms));
  }

  goLive() {
    this.#show(null);
    this.slider.value = this.slider.max;
    setText(byId("slider-at"), "now");
    byId("slider-at").title = "";
    this.slider.setAttribute("aria-valuetext", "now");
  }

  /** @param {number | null} ms */
  #show(ms) {
    this.shownMs = ms;
    byId("live").setAttribute("aria-pressed", String(ms === null));
    this.#read(ms);
    this.onTime(ms);
  }
}

/** @param {Series} series @param {number[]} times @returns {Series} */
function withoutGaps(series, times) {
  const filled = (/** @type {(number | null)[]} */ values) => bridged(values, times);
  return {
    ...series,
    consumers: filled(series.consumers),
    load_bytes_per_s: filled(series.load_bytes_per_s),
    capacity_bytes_per_s: filled(series.capacity_bytes_per_s),
    lag_records: filled(series.lag_records),
    lag_seconds_max: filled(series.lag_seconds_max),
  };
}
