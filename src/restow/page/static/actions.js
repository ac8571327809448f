// @ts-check
/** Pause, resume and recommend: asked for in a dialog, sent with the token, answered in words. */
import { byId, setText } from "./dom.js";
import { Refused, forgetToken, keepToken, post, token } from "./server.js";

/**
 * @typedef {object} Action
 * @property {string} path
 * @property {string} title
 * @property {string} words
 * @property {string} verb
 * @property {boolean} hasEnd
 * @property {object} [body]
 */

/** @type {Record<"pause" | "resume" | "recommend" | "apply" | "token", Action>} */
const ACTIONS = {
  pause: {
    path: "/api/actions/pause",
    title: "Pause the group",
    words: "Nothing is scaled, and nothing is moved for load. Records are still read, and partitions that lose their consumer are still recovered.",
    verb: "Pause",
    hasEnd: true,
  },
  resume: { path: "/api/actions/resume", title: "Resume the group", words: "The controller scales and moves partitions again.", verb: "Resume", hasEnd: false },
  recommend: {
    path: "/api/actions/recommend",
    title: "Recommend only",
    words: "Every decision is made, explained and published, and none is carried out. Partitions that lose their consumer are still recovered.",
    verb: "Recommend only",
    hasEnd: false,
    body: { on: true },
  },
  apply: {
    path: "/api/actions/recommend",
    title: "Carry decisions out again",
    words: "The controller carries its decisions out again, beginning with the decision that it recommends now.",
    verb: "Carry them out",
    hasEnd: false,
    body: { on: false },
  },
  token: { path: "", title: "The token of this page", words: "On this address the page shows nothing without it.", verb: "Go on", hasEnd: false },
};

export class Actions {
  /** @param {() => void} onToken  a token was entered */
  constructor(onToken) {
    this.onToken = onToken;
    this.dialog = /** @type {HTMLDialogElement} */ (byId("ask"));
    this.action = ACTIONS.pause;
    this.isPaused = false;
    this.isRecommending = false;
    this.wasAsked = false;
    byId("pause").addEventListener("click", () => this.#ask(this.isPaused ? ACTIONS.resume : ACTIONS.pause));
    byId("recommend").addEventListener("click", () => this.#ask(this.isRecommending ? ACTIONS.apply : ACTIONS.recommend));
    byId("ask-cancel").addEventListener("click", () => this.dialog.close());
    byId("ask-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
  }

  /** @param {import("./types.js").Overview} overview @param {boolean} isPast */
  update(overview, isPast) {
    this.isPaused = Boolean(overview.paused);
    this.isRecommending = Boolean(overview.recommend_only);
    for (const id of ["pause", "recommend"]) /** @type {HTMLButtonElement} */ (byId(id)).disabled = isPast;
    setText(byId("pause"), this.isPaused ? "Resume…" : "Pause…");
    setText(byId("recommend"), this.isRecommending ? "Carry out again…" : "Recommend only…");
  }

  /** Once: a reader who has no token should not be asked at every reconnect. */
  askForToken() {
    if (this.wasAsked || this.dialog.open) return;
    this.wasAsked = true;
    forgetToken();
    this.#ask(ACTIONS.token);
  }

  /** @param {Action} action */
  #ask(action) {
    this.action = action;
    const isToken = action === ACTIONS.token;
    setText(byId("ask-title"), action.title);
    setText(byId("ask-words"), action.words);
    setText(byId("ask-do"), action.verb);
    setText(byId("ask-answer"), "");
    byId("ask-for-label").hidden = !action.hasEnd;
    byId("ask-reason-label").hidden = isToken;
    byId("ask-token-label").hidden = token() !== null;
    this.#isBusy(false);
    this.dialog.showModal();
  }

  async #send() {
    const entered = /** @type {HTMLInputElement} */ (byId("ask-token"));
    if (entered.value) keepToken(entered.value);
    entered.value = "";
    if (this.action === ACTIONS.token) {
      this.dialog.close();
      return this.onToken();
    }
    if (token() === null) return this.#answer("Enter the token: without it nothing is changed.", true);
    this.#isBusy(true);
    try {
      const answer = await post(this.action.path, this.#body());
      this.#answer(answer.words ?? "taken", answer.taken === false);
    } catch (error) {
      this.#failed(error);
    }
    this.#isBusy(false);
  }

  #body() {
    const reason = /** @type {HTMLInputElement} */ (byId("ask-reason")).value.trim();
    const forS = /** @type {HTMLSelectElement} */ (byId("ask-for")).value;
    return { ...this.action.body, reason, ...(this.action.hasEnd && forS ? { for_s: Number(forS) } : {}) };
  }

  /** @param {unknown} error */
  #failed(error) {
    const isToken = error instanceof Refused && error.status === 401;
    if (isToken) {
      forgetToken();
      byId("ask-token-label").hidden = false;
    }
    this.#answer(error instanceof Refused ? error.message : "This page's server does not answer; nothing was changed.", true);
  }

  /** @param {string} words @param {boolean} isBad */
  #answer(words, isBad) {
    setText(byId("ask-answer"), words);
    byId("ask-answer").classList.toggle("is-bad", isBad);
    if (!isBad) setText(byId("ask-cancel"), "Close");
  }

  /** @param {boolean} isBusy */
  #isBusy(isBusy) {
    /** @type {HTMLButtonElement} */ (byId("ask-do")).disabled = isBusy;
    setText(byId("ask-cancel"), "Cancel");
    if (isBusy) setText(byId("ask-answer"), "Waiting for the controller's answer…");
  }
}
