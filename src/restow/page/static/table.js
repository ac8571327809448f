// @ts-check
/** The bins as a table, for those who can't see them or want figures; and the legend of topics. */
import { topicClass } from "./colours.js";
import { byId, element, setText } from "./dom.js";
import { counted, lagWords, percent, span, speed } from "./units.js";

const MOST_IN_LEGEND = 10;

/**
 * Drawn only while it is open. Rows stay, so that focus and selections do.
 * @param {import("./picture.js").Loaded[]} consumers @param {(subject: import("./types.js").Subject) => void} open
 */
export function showTable(consumers, open) {
  if (!(/** @type {HTMLDetailsElement} */ (byId("as-table")).open)) return;
  const body = byId("rows");
  /** @type {Map<string | undefined, HTMLElement>} */
  const rows = new Map([.../** @type {HTMLCollectionOf<HTMLElement>} */ (body.children)].map((row) => [row.dataset.number, row]));
  const wanted = consumers.map((loaded) => filled(rows.get(String(loaded.number)) ?? rowOf(loaded.number, open), loaded));
  if (wanted.length !== body.children.length || wanted.some((row, index) => row !== body.children[index])) body.replaceChildren(...wanted);
}

/** @param {number} number @param {(subject: import("./types.js").Subject) => void} open */
function rowOf(number, open) {
  const button = element("button", { type: "button", class: "as-link" }, `consumer ${number}`);
  button.addEventListener("click", () => open({ kind: "consumer", number }));
  const row = element("tr", { "data-number": String(number) }, element("th", { scope: "row" }, button));
  for (let cell = 0; cell < 8; cell++) row.append(element("td"));
  return row;
}

/** @param {HTMLElement} row @param {import("./picture.js").Loaded} loaded */
function filled(row, { status }) {
  const texts = [
    status.phase + (status.spare ? ", spare" : "") + (status.outdated ? ", old settings" : ""),
    speed(status.load_bytes_per_s),
    percent(status.load_bytes_per_s / status.capacity_bytes_per_s),
    String(status.partitions),
    status.partitions ? lagWords(status.lag) : "",
    typeof status.bytes_per_s === "number" ? speed(status.bytes_per_s) : "",
    typeof status.cycle_s_mean === "number" ? span(status.cycle_s_mean) : "",
    String(status.restarts || ""),
  ];
  for (const [index, text] of texts.entries()) setText(row.children[index + 1], text);
  return row;
}

let drawn = "";

/** @param {string[]} topics */
export function showLegend(topics) {
  if (topics.join() === drawn) return;
  drawn = topics.join();
  const items = topics.slice(0, MOST_IN_LEGEND).map((topic) => {
    return element("li", {}, element("span", { class: `swatch ${topicClass(topics, topic)}` }), topic);
  });
  const left = topics.length - MOST_IN_LEGEND;
  if (left > 0) items.push(element("li", {}, `and ${counted(left, "topic")} more`));
  byId("legend").replaceChildren(...items);
}

/** The bins in a sentence. @param {import("./types.js").Picture} picture @param {import("./picture.js").Totals} totals */
export function showSummary(picture, totals) {
  const { limits } = picture.overview;
  setText(byId("key-trigger"), `trigger, ${percent(limits.trigger)}: above it, partitions are given up`);
  setText(byId("key-fill"), `plans fill to ${percent(limits.fill_to)}`);
  const share = totals.capacity ? `, at ${percent(totals.load / totals.capacity)} of their capacity together` : "";
  setText(byId("frame-summary"), `${counted(totals.consumers, "consumer")}${share}; ${lagWords(totals.lag)}.`);
}
