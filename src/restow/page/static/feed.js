// @ts-check
/**
 * Follows the group: keeps the newest picture, its age, and what is known about the way to it. Reconnects for ever, with
 * a growing pause.
 */
import { readEvents } from "./events.js";
import { changed } from "./picture.js";
import { Refused, openEvents } from "./server.js";

const SILENT_AFTER_MS = 35_000; // the server sends a heartbeat every 10 s
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
export const OUTAGE_AFTER_S = 30; // the controller publishes every 10 s: an older picture is of the past

/**
 * @typedef {object} News
 * @property {import("./types.js").Picture | null} picture  the newest; null before the first
 * @property {string | null} why  why there is none, or why it gets no newer
 * @property {number} ageS  its age when it arrived
 * @property {number} arrivedMs  when that was, by performance.now()
 * @property {"connecting" | "connected" | "away" | "denied"} server
 */

/** The age of a picture now. @param {News} news */
export function ageOf(news) {
  return news.ageS + (performance.now() - news.arrivedMs) / 1000;
}

export class Feed {
  /** @param {(news: News) => void} onNews */
  constructor(onNews) {
    this.onNews = onNews;
    /** @type {News} */
    this.news = { picture: null, why: null, ageS: 0, arrivedMs: performance.now(), server: "connecting" };
    /** @type {import("./types.js").Picture | null} the picture that changes are to */
    this.whole = null;
    this.abort = new AbortController();
    this.pauseMs = FIRST_PAUSE_MS;
  }

  async run() {
    for (;;) {
      await this.#connection();
      await new Promise((resolve) => setTimeout(resolve, this.pauseMs));
      this.pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * this.pauseMs);
    }
  }

  /** Connects anew at once, with a token that was entered just now. */
  again() {
    this.pauseMs = FIRST_PAUSE_MS;
    this.abort.abort();
  }

  async #connection() {
    this.abort = new AbortController();
    let watch = 0;
    const heard = () => {
      clearTimeout(watch);
      watch = setTimeout(() => this.abort.abort(), SILENT_AFTER_MS);
    };
    heard();
    try {
      const body = await openEvents(this.abort.signal);
      this.#tell({ server: "connected" });
      await readEvents(body, (name, data) => this.#take(name, data), heard);
      this.#tell({ server: "away" });
    } catch (error) {
      const isDenied = error instanceof Refused && (error.status === 401 || error.status === 403);
      this.#tell({ server: isDenied ? "denied" : "away", ...(isDenied ? { why: error.message } : {}) });
    } finally {
      clearTimeout(watch);
      this.abort.abort();
    }
  }

  /** @param {string} name @param {any} data */
  #take(name, data) {
    this.pauseMs = FIRST_PAUSE_MS;
    if (name === "picture") {
      // None now, but there was one: it stays, and gets older.
      if (!data.picture) return this.#tell({ why: data.why ?? null });
      this.whole = data.picture;
      return this.#arrived(data.picture, data);
    }
    if (name === "change" && this.whole) return this.#arrived(changed(this.whole, data), data);
    if (name === "outage") this.#tell({ why: data.words ?? data.why ?? null, ...this.#aged(data) });
  }

  /** @param {import("./types.js").Picture} picture @param {any} data */
  #arrived(picture, data) {
    this.#tell({ picture, why: data.outage ? (data.why ?? null) : null, ...this.#aged({ age_s: 0, ...data }) });
  }

  /** @param {{age_s?: number | null}} data */
  #aged(data) {
    return typeof data.age_s === "number" ? { ageS: data.age_s, arrivedMs: performance.now() } : {};
  }

  /** @param {Partial<News>} news */
  #tell(news) {
    this.news = { ...this.news, ...news };
    this.onNews(this.news);
  }
}
