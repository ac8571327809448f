// @ts-check
/** What stands above everything: outages, a pause, recommend only. And the page before its first picture. */
import { byId, element, setText } from "./dom.js";
import { OUTAGE_AFTER_S, ageOf } from "./feed.js";
import { clock, roughly, utc } from "./units.js";

let drawn = "";

/** @param {import("./feed.js").News} news @param {import("./types.js").Overview | null} overview  of the picture that is shown */
export function showBanners(news, overview) {
  const banners = [...outageOf(news), ...(overview ? requestsOf(overview) : [])];
  const state = JSON.stringify(banners);
  if (state === drawn) return;
  drawn = state;
  byId("banners").replaceChildren(
    ...banners.map(({ kind, title, words, hint }) =>
      element("div", { class: `banner ${kind}` }, element("strong", {}, title), " ", words, hint ? element("small", { title: hint }, ` ${hint}`) : null),
    ),
  );
}

/** @typedef {{kind: string, title: string, words: string, hint?: string}} Banner */

/** @param {import("./feed.js").News} news @returns {Banner[]} */
function outageOf(news) {
  if (!news.picture) return [];
  const age = ageOf(news);
  const asOf = `What you see is as of ${clock(news.picture.overview.time)}.`;
  if (news.server === "away") {
    return [{ kind: "outage", title: "This page's server does not answer.", words: `${asOf} It is tried again; does \`restow page\` run?` }];
  }
  if (age > OUTAGE_AFTER_S) {
    // Whole minutes after two of them: the banner is read out, and should not be each second.
    const lasted = age < 120 ? `${10 * Math.floor(age / 10)} s` : roughly(age);
    const why = news.why ?? "No controller publishes: does `restow controller` run, and does it reach Kafka?";
    return [{ kind: "outage", title: `Outage: no picture for ${lasted}.`, words: `${sentence(why)} ${asOf}` }];
  }
  return [];
}

/** @param {string} words */
function sentence(words) {
  const text = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** @param {import("./types.js").Overview} overview @returns {Banner[]} */
function requestsOf({ paused, recommend_only: recommending }) {
  /** @type {Banner[]} */
  const banners = [];
  if (paused) {
    const end = paused.until ? `until ${clock(paused.until)}` : "until it is resumed";
    const words = `Nothing is scaled or moved for load; partitions without a consumer are still recovered. ${who(paused)}`;
    banners.push({ kind: "paused", title: `Paused ${end}.`, words, hint: paused.until ? `(${utc(paused.until)})` : undefined });
  }
  if (recommending) {
    const words = `Every decision is made and explained, and none is carried out. ${who(recommending)}`;
    banners.push({ kind: "recommend", title: "Recommend only.", words });
  }
  return banners;
}

/** @param {import("./types.js").Request} request */
function who({ by, at, reason }) {
  const name = by ? `By ${by}` : "By a person";
  return `${name}${at ? ` at ${clock(at)}` : ""}${reason ? `: ${reason}` : ""}.`.replace(/([.!?])\.$/, "$1");
}

/** The page without a picture: loading, nothing yet, not allowed. @param {import("./feed.js").News} news */
export function showNothing(news) {
  const [state, title, words] = nothingOf(news);
  if (document.body.dataset.state !== state) document.body.dataset.state = state;
  setText(byId("nothing-title"), title);
  setText(byId("nothing-words"), words);
}

/** @param {import("./feed.js").News} news @returns {[string, string, string]} */
function nothingOf(news) {
  switch (news.server) {
    case "denied":
      return ["denied", "This page needs its token", `${news.why ?? ""} Open it with the address that \`restow page\` printed, or enter the token.`];
    case "away":
      return ["away", "This page's server does not answer", "It is tried again. Does `restow page` still run?"];
    default:
      if (news.why) return ["empty", "There is no picture yet", sentence(news.why)];
      return ["loading", "Reading the group's picture", "This takes a second."];
  }
}

/** In the header: whether what is shown is live. @param {import("./feed.js").News} news @param {number | null} shownMs */
export function showLink(news, shownMs) {
  const age = ageOf(news);
  const [className, words] =
    shownMs !== null
      ? ["past", "past"]
      : news.server === "connecting" || (news.server === "connected" && !news.picture)
        ? ["connecting", news.server === "connected" ? "waiting" : "connecting"]
        : news.server !== "connected" || (news.picture && age > OUTAGE_AFTER_S)
          ? ["out", "outage"]
          : ["live", "live"];
  const link = byId("link");
  link.dataset.state = className;
  setText(link, words);
}
