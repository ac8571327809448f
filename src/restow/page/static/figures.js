// @ts-check
/** The group in four figures, and its controller: stage, waits and the health of every part. */
import { byId, element, setText, timeElement } from "./dom.js";
import { OUTAGE_AFTER_S } from "./feed.js";
import { clock, counted, grouped, percent, roughly, span, speed, utc } from "./units.js";

const STALE_SPEEDS_S = 30;
/** What each stage means, in a few words; docs/controller.md has more. @type {Record<string, string>} */
const STAGES = {
  Synchronize: "asks the consumers what they hold",
  Sentinel: "watches the speeds; nothing is to be changed",
  Reassign: "plans a new assignment",
  Manage: "moves the group towards its plan",
};

/** @param {import("./types.js").Picture} picture @param {import("./picture.js").Totals} totals
 * @param {import("./picture.js").Place[]} places */
export function showFigures(picture, totals, places) {
  const unread = places.filter((place) => place.status.consumer === null).length;
  const { lag } = totals;
  const behind = !lag ? "unknown" : !lag.records ? "caught up" : lag.seconds === null ? "age unknown" : span(lag.seconds);
  const figures = [
    {
      name: "Consumers",
      value: grouped(totals.consumers),
      more: totals.ready === totals.consumers ? "all ready" : `${totals.ready} ready`,
      isBad: totals.ready < totals.consumers,
    },
    {
      name: "Load",
      value: speed(totals.load),
      more: totals.capacity ? `${percent(totals.load / totals.capacity)} of ${speed(totals.capacity)}` : "no consumer yet",
    },
    {
      name: "Furthest behind",
      value: behind,
      more: lag?.records ? `${totals.furthest ?? "?"}; ${counted(lag.records, "record")} in all` : "no record waits",
    },
    {
      name: "Partitions",
      value: grouped(places.length),
      more: unread ? `${grouped(unread)} without a consumer` : `in ${counted(Object.keys(picture.topics).length, "topic")}, all read`,
      isBad: unread > 0,
    },
  ];
  byId("figures").replaceChildren(
    ...figures.map(({ name, value, more, isBad }) =>
      element(
        "div",
        {},
        element("dt", {}, name),
        element("dd", { class: "value" }, value),
        element("dd", { class: isBad ? "more is-bad" : "more" }, more),
      ),
    ),
  );
}

/** @param {import("./types.js").Overview} overview @param {number} nowMs */
export function showStage(overview, nowMs) {
  const lasted = roughly((nowMs - Date.parse(overview.since)) / 1000);
  byId("stage").replaceChildren(
    element("strong", {}, overview.stage),
    ` for ${lasted}: ${STAGES[overview.stage] ?? "see docs/controller.md"}`,
  );
  byId("stage").title = `since ${utc(overview.since)}, on ${overview.controller}, epoch ${overview.epoch}`;
  const waits = overview.waiting_for ?? [];
  byId("waits").hidden = !waits.length;
  byId("waits").replaceChildren(...waits.map((words) => element("li", {}, `waits for ${words}`)));
}

/**
 * @param {import("./types.js").Picture} picture @param {import("./picture.js").Totals} totals
 * @param {number} ageS  of the picture @param {boolean} isPast
 */
export function showHealth(picture, totals, ageS, isPast) {
  const { overview } = picture;
  const isOut = !isPast && ageS > OUTAGE_AFTER_S;
  const speeds = overview.speeds_age_s ?? null;
  const speedsAge = speeds === null ? null : speeds + (isPast ? 0 : ageS);
  const trouble = Object.values(picture.consumers).filter((each) => ["lost", "crashed", "restarted"].includes(each.phase)).length;
  const parts = [
    { part: "Controller", isGood: !isOut, words: isOut ? `silent for ${roughly(ageS)}` : `${overview.controller}, epoch ${overview.epoch}` },
    {
      part: "Monitor",
      isGood: speedsAge !== null && speedsAge < STALE_SPEEDS_S,
      words: speedsAge === null ? "no speeds yet" : `speeds ${roughly(speedsAge)} old`,
    },
    {
      part: "Consumers",
      isGood: !isOut && totals.ready === totals.consumers,
      words: `${totals.ready} of ${totals.consumers} ready${trouble ? `, ${trouble} in trouble` : ""}${isOut ? " when last seen" : ""}`,
    },
    { part: "Picture", isGood: !isOut, words: isPast ? `of ${clock(overview.time)}` : `${roughly(ageS)} old` },
  ];
  showParts(parts);
}

/** @param {{part: string, isGood: boolean, words: string}[]} parts */
function showParts(parts) {
  const list = byId("health");
  if (list.children.length !== parts.length) {
    list.replaceChildren(
      ...parts.map(() => element("li", {}, element("span", { class: "sign", "aria-hidden": "true" }), element("b"), element("span", { class: "state" }), element("span", { class: "words" }))),
    );
  }
  for (const [index, { part, isGood, words }] of parts.entries()) {
    const [sign, name, state, text] = list.children[index].children;
    list.children[index].className = isGood ? "good" : "bad";
    setText(sign, isGood ? "●" : "▲");
    setText(name, part);
    setText(state, isGood ? "good" : "check");
    setText(text, words);
  }
}

/** @param {import("./types.js").Overview} overview */
export function timeOf(overview) {
  return timeElement(overview.time, clock(overview.time), utc(overview.time));
}
