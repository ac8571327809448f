// @ts-check
/**
 * Where bins and slices are drawn. Pure: a picture and a width in, rectangles out.
 *
 * A bin is a consumer, its rim the consumer's capacity; a slice is a partition, as high as its speed times the cost of
 * its topic. All bins share one scale. The first bin has the partitions that no consumer reads, where there are any.
 *
 * @typedef {import("./picture.js").Place} Place
 * @typedef {import("./picture.js").Loaded} Loaded
 * @typedef {{x: number, y: number, w: number, h: number}} Rect
 * @typedef {Rect & {places: Place[], topic: string}} Slice  `places` has more than one where they are too thin to be told apart
 * @typedef {object} Bin
 * @property {Loaded | null} loaded  null: the partitions that no consumer reads
 * @property {number} x
 * @property {number} top  where its drawing begins
 * @property {number} base  where its bottom is
 * @property {number} w
 * @property {number} rim  the y of its capacity
 * @property {number} fillTo
 * @property {number} trigger
 * @property {Slice[]} slices  from the bottom up
 * @property {Rect | null} backlog  the part of its load that is no speed: the backlog, spread over the catch-up time
 * @property {number} over  its load as a share of capacity, if that is higher than can be drawn; otherwise 0
 *
 * @typedef {object} Layout
 * @property {Bin[]} bins
 * @property {Map<string, Rect>} rects  of every partition, by its name
 * @property {number} height
 * @property {Size} size
 * @property {number} columns
 *
 * @typedef {{w: number, h: number, gap: number, label: number}} Size
 */

/** @type {Size[]} from few consumers to hundreds */
export const SIZES = [
  { w: 196, h: 300, gap: 36, label: 46 },
  { w: 148, h: 264, gap: 30, label: 46 },
  { w: 112, h: 224, gap: 24, label: 46 },
  { w: 84, h: 190, gap: 18, label: 46 },
  { w: 60, h: 156, gap: 14, label: 44 },
  { w: 40, h: 124, gap: 10, label: 40 },
  { w: 26, h: 98, gap: 7, label: 24 },
  { w: 17, h: 78, gap: 5, label: 22 },
  { w: 10, h: 60, gap: 4, label: 18 },
];
const LEAST_TOP = 1.12; // a full bin leaves room to see that it is not overloaded
const MOST_TOP = 1.6;
const COMFORTABLE_W = 84; // px: wide enough for names; one row of such bins is easier to compare than two of wider ones
const THIN = 3; // px: thinner slices of a topic are drawn as one
const LEAST_VISIBLE = 2; // px of a partition that is hardly written, where there is room

/** The largest size with which all bins fit. @param {number} bins @param {number} width @param {number} height */
export function sizeFor(bins, width, height) {
  const fits = (/** @type {Size} */ size) => {
    const rows = Math.ceil(bins / columnsOf(size, width));
    return rows * (size.h + size.label) <= height && size.w <= width;
  };
  const inOneRow = SIZES.find((size) => size.w >= COMFORTABLE_W && columnsOf(size, width) >= bins && fits(size));
  return inOneRow ?? SIZES.find(fits) ?? SIZES[SIZES.length - 1];
}

/** @param {Size} size @param {number} width */
function columnsOf(size, width) {
  return Math.max(1, Math.floor((width + size.gap) / (size.w + size.gap)));
}

/**
 * @param {{consumers: Loaded[], unread: Place[]}} group
 * @param {import("./types.js").Limits} limits
 * @param {number} width @param {number} height  what is at hand; the layout may be lower, and higher for very many bins
 * @returns {Layout}
 */
export function layoutOf(group, limits, width, height) {
  /** @type {(Loaded | null)[]} */
  const order = group.unread.length ? [null, ...group.consumers] : group.consumers;
  const size = sizeFor(order.length, width, height);
  const columns = columnsOf(size, width);
  const scale = scaleOf(group.consumers, limits);
  const rects = new Map();
  const bins = order.map((loaded, index) => {
    const x = (index % columns) * (size.w + size.gap);
    const top = Math.floor(index / columns) * (size.h + size.label);
    return binOf(loaded, loaded?.places ?? group.unread, { x, top, size, scale, limits, rects });
  });
  const rows = Math.max(1, Math.ceil(order.length / columns));
  return { bins, rects, height: rows * (size.h + size.label), size, columns };
}

/** @param {Loaded[]} consumers @param {import("./types.js").Limits} limits */
function scaleOf(consumers, limits) {
  const largest = Math.max(limits.capacity_bytes_per_s, ...consumers.map((each) => each.status.capacity_bytes_per_s));
  const most = Math.max(0, ...consumers.map((each) => each.status.load_bytes_per_s / largest));
  const top = Math.min(MOST_TOP, Math.max(LEAST_TOP, most * 1.03));
  return { bytes: largest * top, largest };
}

/**
 * @param {Loaded | null} loaded @param {Place[]} places
 * @param {{x: number, top: number, size: Size, scale: {bytes: number, largest: number},
 *          limits: import("./types.js").Limits, rects: Map<string, Rect>}} at
 * @returns {Bin}
 */
function binOf(loaded, places, { x, top, size, scale, limits, rects }) {
  const base = top + size.h;
  const capacity = loaded?.status.capacity_bytes_per_s ?? scale.largest;
  const pixels = (/** @type {number} */ bytes) => (bytes / scale.bytes) * size.h;
  const inner = { x: x + 2, w: size.w - 4 };
  const stack = stacked(places, pixels, inner, base, rects, size);
  const load = loaded?.status.load_bytes_per_s ?? 0;
  const extra = pixels(load) - stack.speeds;
  const room = stack.y - top;
  const backlog = extra > 0.75 && room > 0 ? { ...inner, y: stack.y - Math.min(extra, room), h: Math.min(extra, room) } : null;
  return {
    loaded,
    x,
    top,
    base,
    w: size.w,
    rim: base - pixels(capacity),
    fillTo: base - pixels(capacity * limits.fill_to),
    trigger: base - pixels(capacity * limits.trigger),
    slices: stack.slices,
    backlog,
    over: pixels(load) > size.h ? load / capacity : 0,
  };
}

/**
 * Slices from the bottom up, by topic and number: an order that speeds don't change, so that nothing jumps about.
 * @param {Place[]} places @param {(bytes: number) => number} pixels @param {{x: number, w: number}} inner
 * @param {number} base @param {Map<string, Rect>} rects @param {Size} size
 */
function stacked(places, pixels, inner, base, rects, size) {
  const least = places.length * LEAST_VISIBLE < size.h / 8 ? LEAST_VISIBLE : 0;
  /** @type {Slice[]} */
  const slices = [];
  let y = base - 2;
  let speeds = 0;
  /** @type {Slice | null} */
  let thin = null;
  for (const place of places) {
    const exact = pixels((place.status.bytes_per_s ?? 0) * place.cost);
    const h = Math.max(exact, least);
    speeds += exact;
    y -= h;
    rects.set(place.key, { x: inner.x, y, w: inner.w, h });
    if (thin && h < THIN && thin.topic === place.topic) {
      thin.places.push(place);
      thin.y = y;
      thin.h += h;
      continue;
    }
    const slice = { x: inner.x, y, w: inner.w, h, places: [place], topic: place.topic };
    slices.push(slice);
    thin = h < THIN && !least ? slice : null;
  }
  return { slices, y, speeds };
}
