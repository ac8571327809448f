// @ts-check
/** Raised flags in words, and what to do about them. */
import { byId, element } from "./dom.js";
import { roughly, utc } from "./units.js";

/** By flag; of a flag that ends in a topic's name, its first word. @type {Record<string, string>} */
export const WHAT_TO_DO = {
  "stale speeds": "See whether the monitor runs, and what it logs.",
  "missing speeds": "For new topics it ends with the next measurement; otherwise check the monitor's rights.",
  "impossible speeds": "Raise [controller] fastest_partition_bytes_per_s if the speed is real; otherwise look at the monitor's machine.",
  infeasible: "Do one of the three things that it names: more partitions, larger consumers, or a cheaper transform.",
  "stuck partitions": "Correct what the error names; without an error, look in the consumer's log and restart it.",
  "scale-up without gain": "Look for what consumers share: cores, a disk, a broker's bandwidth. Larger or other machines help, more consumers don't.",
  "too few consumers": "Raise [controller] most_consumers, or look in the controller's log for why consumers can't be started.",
  "moves postponed": "Raise [controller] most_moves_per_h if consumers should be closed sooner.",
  schedule: "Nothing: it ends by itself; `restow consumers set` sets other limits until then.",
  parked: "Nothing: the group starts again with the next record.",
  "failed starts": "Read the consumer's log; if starts are only slow here, raise [controller] ready_within_s.",
  "suspected partitions": "Look in that consumer's log for why its processes end; raise memory_mb or correct the transform.",
  "consumers elsewhere": "End them there with `restow down`; or end this controller, if it is the one too many.",
  "older settings": "Nothing, unless it says halted or held: then the last consumer's log says why.",
  "broken code": "Correct the module, then `restow check` and `restow reload`.",
  "retention first": "Nothing, if the lag shrinks: they get a consumer's room. Otherwise raise the topic's retention.ms.",
  "retention margin": "See why they are behind; if that takes longer than they have, raise the topic's retention.ms or retention.bytes first.",
  "too much pinned": "Unpin a partition, or move it to another consumer.",
  failing: "Correct the transform and roll it out, or free the table; `restow check` tries both.",
  rejected: "`restow rejected list` shows them with their errors; after a correction `restow rejected retry` stores them.",
  refused: "`restow check` shows the error; partitions are tried again by themselves.",
};

/** @param {string} name */
export function whatToDo(name) {
  return WHAT_TO_DO[name] ?? WHAT_TO_DO[name.split(" ")[0]] ?? "";
}

let drawn = "";

/** @param {import("./types.js").Overview} overview @param {number} nowMs */
export function showFlags(overview, nowMs) {
  const flags = Object.entries(overview.flags ?? {});
  const section = byId("flags");
  const state = JSON.stringify(flags);
  if (state !== drawn) {
    drawn = state;
    section.hidden = !flags.length;
    section.replaceChildren(...flags.map(([name, flag]) => flagElement(name, flag)));
  }
  for (const span of /** @type {NodeListOf<HTMLElement>} */ (section.querySelectorAll("[data-since]"))) {
    span.textContent = `for ${roughly((nowMs - Date.parse(span.dataset.since ?? "")) / 1000)}`;
  }
}

/** @param {string} name @param {{words: string, since: string}} flag */
function flagElement(name, { words, since }) {
  const todo = whatToDo(name);
  const lasted = element("span", { class: "lasted", "data-since": since, title: `since ${utc(since)}`, "aria-hidden": "true" });
  return element(
    "article",
    {},
    element("h3", {}, element("span", { class: "sign", "aria-hidden": "true" }, "▲"), name, " ", lasted),
    element("p", {}, words),
    element("p", { class: "todo" }, todo ? `${todo} ` : "", element("span", { class: "doc" }, "docs/operations.md, Flags")),
  );
}
