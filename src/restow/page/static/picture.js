// @ts-check
/**
 * What is derived from a picture. Pure.
 * @typedef {import("./types.js").Picture} Picture
 * @typedef {import("./types.js").Change} Change
 * @typedef {import("./types.js").Consumer} Consumer
 * @typedef {import("./types.js").Partition} Partition
 * @typedef {{key: string, topic: string, number: number, status: Partition, cost: number}} Place  A partition with its name.
 * @typedef {{number: number, status: Consumer, places: Place[]}} Loaded  A consumer with its partitions.
 */

/**
 * The whole picture with a change applied. The whole stays as it is, because the next change is one to it as well.
 * @param {Picture} whole @param {Change} change @returns {Picture}
 */
export function changed(whole, change) {
  /** @type {Picture["topics"]} */
  const topics = { ...whole.topics };
  for (const [topic, rows] of Object.entries(change.topics ?? {})) topics[topic] = merged(topics[topic] ?? {}, rows);
  return { overview: change.overview, consumers: merged(whole.consumers, change.consumers ?? {}), topics };
}

/**
 * @template Row
 * @param {Record<string, Row>} base
 * @param {Record<string, Row | null>} news
 * @returns {Record<string, Row>}
 */
function merged(base, news) {
  const result = { ...base };
  for (const [name, row] of Object.entries(news)) {
    if (row === null) delete result[name];
    else result[name] = row;
  }
  return result;
}

/**
 * What a byte of the topic costs, relative to the mean of all topics; null if that is neither learned nor fixed.
 * @param {Picture} picture @param {string} topic @returns {number | null}
 */
export function costOf({ overview }, topic) {
  return overview.fixed_costs?.[topic] ?? overview.costs?.[topic]?.cost ?? null;
}

/** Every partition, by topic and number. @param {Picture} picture @returns {Place[]} */
export function placesOf(picture) {
  /** @type {Place[]} */
  const places = [];
  for (const topic of Object.keys(picture.topics).sort()) {
    const rows = picture.topics[topic];
    const cost = costOf(picture, topic) ?? 1;
    for (const text of Object.keys(rows)) {
      // Keys that are whole numbers come in ascending order: the language says so.
      places.push({ key: `${topic}-${text}`, topic, number: Number(text), status: rows[text], cost });
    }
  }
  return places;
}

/**
 * Consumers by number, each with its partitions, and the partitions that no consumer reads.
 * @param {Picture} picture @param {Place[]} places @returns {{consumers: Loaded[], unread: Place[]}}
 */
export function loadedOf(picture, places) {
  /** @type {Map<number, Loaded>} */
  const byNumber = new Map();
  for (const [text, status] of Object.entries(picture.consumers)) {
    byNumber.set(Number(text), { number: Number(text), status, places: [] });
  }
  /** @type {Place[]} */
  const unread = [];
  for (const place of places) {
    const holder = place.status.consumer === null ? undefined : byNumber.get(place.status.consumer);
    (holder?.places ?? unread).push(place);
  }
  return { consumers: [...byNumber.values()].sort((one, other) => one.number - other.number), unread };
}

/**
 * @typedef {object} Totals
 * @property {number} consumers
 * @property {number} ready
 * @property {number} load
 * @property {number} capacity
 * @property {import("./types.js").Lag | null} lag  all records, and the seconds of the partition that is furthest behind
 * @property {string | null} furthest  that partition
 *
 * @param {Picture} picture @param {Place[]} places @returns {Totals}
 */
export function totalsOf(picture, places) {
  const consumers = Object.values(picture.consumers);
  return {
    consumers: consumers.length,
    ready: consumers.filter((status) => status.phase === "ready").length,
    load: consumers.reduce((sum, status) => sum + status.load_bytes_per_s, 0),
    capacity: consumers.reduce((sum, status) => sum + status.capacity_bytes_per_s, 0),
    ...worstOf(places),
  };
}

/** @param {Place[]} places */
function worstOf(places) {
  let records = 0;
  let seconds = null;
  let furthest = null;
  let isKnown = false;
  for (const { key, status } of places) {
    if (!status.lag) continue;
    isKnown = true;
    records += status.lag.records;
    const behind = status.lag.records ? status.lag.seconds : 0;
    if (behind !== null && behind !== undefined && (seconds === null || behind > seconds)) {
      [seconds, furthest] = [behind, key];
    }
  }
  return { lag: isKnown ? { records, seconds } : null, furthest: records ? furthest : null };
}
