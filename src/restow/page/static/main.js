// @ts-check
/** The page of a group: follows its picture and hands it to the parts that draw. */
import { Actions } from "./actions.js";
import { showBanners, showLink, showNothing } from "./banners.js";
import { Bins } from "./bins.js";
import { Decisions } from "./decisions.js";
import { byId, setText } from "./dom.js";
import { Feed, ageOf, OUTAGE_AFTER_S } from "./feed.js";
import { showFigures, showHealth, showStage } from "./figures.js";
import { showFlags } from "./flags.js";
import { History } from "./history.js";
import { Panel } from "./panel.js";
import { loadedOf, placesOf, totalsOf } from "./picture.js";
import { Pointing } from "./pointing.js";
import { get, takeTokenFromAddress } from "./server.js";
import { showLegend, showSummary, showTable } from "./table.js";
import { followTheme } from "./theme.js";
import { clock, roughly, utc } from "./units.js";

/** @typedef {import("./types.js").Picture} Picture */

const canvas = (/** @type {string} */ id) => /** @type {HTMLCanvasElement} */ (byId(id));

class Page {
  constructor() {
    this.bins = new Bins(canvas("bins"), canvas("bins-overlay"), byId("frame"));
    this.panel = new Panel();
    this.pointing = new Pointing(this.bins, byId("tip"), byId("spoken"), this.panel.open);
    this.decisions = new Decisions();
    this.history = new History((ms) => this.#goTo(ms));
    this.feed = new Feed(() => this.#soon());
    this.actions = new Actions(() => this.feed.again());
    /** @type {Picture | null} the picture that is drawn */
    this.drawn = null;
    /** @type {Picture | null} of the past, while the slider is there */
    this.past = null;
    /** @type {number | null} */
    this.pastMs = null;
    this.asked = new AbortController();
    this.isDue = false;
  }

  run() {
    this.history.onSeries = (series) => this.decisions.add(series.decisions);
    byId("past-live").addEventListener("click", () => this.history.goLive());
    byId("as-table").addEventListener("toggle", () => this.#draw(true));
    document.addEventListener("visibilitychange", () => {
      this.#soon();
      if (!document.hidden) this.history.refresh();
    });
    setInterval(() => document.hidden || this.#tick(), 1000);
    this.history.goLive();
    this.feed.run();
  }

  /** Draws once a frame at most, and not while the page is hidden. */
  #soon() {
    if (this.isDue || document.hidden) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.#draw(false);
    });
  }

  /** @param {boolean} isForced */
  #draw(isForced) {
    const { news } = this.feed;
    const picture = this.past ?? news.picture;
    this.#showState(Boolean(picture));
    if (!picture) {
      showNothing(news);
      showLink(news, null);
      if (news.server === "denied") this.actions.askForToken();
      return;
    }
    if (picture !== this.drawn || isForced) this.#drawPicture(picture);
    this.#tick();
  }

  /** @param {Picture} picture */
  #drawPicture(picture) {
    const isFirst = this.drawn === null;
    performance.mark("restow-update");
    this.drawn = picture;
    const places = placesOf(picture);
    this.totals = totalsOf(picture, places);
    setText(byId("name"), picture.overview.group);
    byId("name").hidden = false;
    document.title = `${picture.overview.group} · restow`;
    showFigures(picture, this.totals, places);
    showLegend(Object.keys(picture.topics).sort());
    showSummary(picture, this.totals);
    const group = loadedOf(picture, places);
    showTable(group.consumers, this.panel.open);
    this.bins.show(picture, places, group, this.past === null);
    this.decisions.add(picture.overview.decisions ?? []);
    this.panel.update(picture);
    this.actions.update(picture.overview, this.past !== null);
    performance.measure("restow-update", "restow-update");
    if (isFirst) {
      performance.mark("restow-first-picture");
      this.history.refresh();
    }
  }

  /** What changes with the time alone. */
  #tick() {
    const { news } = this.feed;
    const picture = this.drawn;
    showLink(news, this.pastMs);
    if (!picture || !this.totals) return showNothing(news);
    const nowMs = this.past ? Date.parse(this.past.overview.time) : Date.now();
    const age = ageOf(news);
    showBanners(news, picture.overview);
    showFlags(picture.overview, nowMs);
    showStage(picture.overview, nowMs);
    showHealth(picture, this.totals, age, this.past !== null);
    byId("content").classList.toggle("is-old", this.past === null && (age > OUTAGE_AFTER_S || news.server === "away"));
  }

  /** @param {boolean} hasPicture */
  #showState(hasPicture) {
    byId("content").hidden = !hasPicture;
    byId("nothing").hidden = hasPicture;
    if (hasPicture) document.body.dataset.state = this.past ? "past" : "shown";
  }

  /** Shows a moment of the last day, or null: now. @param {number | null} ms */
  async #goTo(ms) {
    this.pastMs = ms;
    this.asked.abort();
    this.decisions.showUntil(ms === null ? null : new Date(ms).toISOString());
    byId("past").hidden = ms === null;
    if (ms === null) {
      this.past = null;
      return this.#draw(false);
    }
    this.#sayPast(ms, "");
    this.asked = new AbortController();
    const { signal } = this.asked;
    await new Promise((resolve) => setTimeout(resolve, 120)); // the slider is still moving
    if (signal.aborted) return;
    try {
      const answer = await get(`/api/at?time=${encodeURIComponent(new Date(ms).toISOString())}`, signal);
      if (answer.picture) this.past = answer.picture;
      this.#sayPast(ms, answer.picture ? "" : (answer.why ?? "There is no picture of that time."));
      this.#draw(false);
    } catch (error) {
      if (!signal.aborted) this.#sayPast(ms, error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {number} ms @param {string} trouble */
  #sayPast(ms, trouble) {
    const ago = roughly((Date.now() - ms) / 1000);
    setText(byId("past-words"), `You look at ${clock(ms)}, ${ago} ago. ${trouble}`);
    byId("past-words").title = utc(ms);
  }
}

takeTokenFromAddress();
const page = new Page();
followTheme(() => page.bins.redraw());
page.run();
