// @ts-check
/**
 * Fills the times between two pictures with the earlier one's values, but not an outage. Pure.
 *
 * Pictures come every 10 s; of a large group the server reads those from before its own start more rarely. So a gap is an
 * outage if it is longer than 30 s and much longer than the gaps beside it.
 */
const SHORT_MS = 30_000;
const MUCH_LONGER = 2.5;

/** @param {(number | null)[]} values @param {number[]} times @returns {(number | null)[]} */
export function bridged(values, times) {
  const known = values.flatMap((value, index) => (value === null || value === undefined ? [] : [index]));
  const filled = [...values];
  for (const [place, index] of known.entries()) {
    const next = known[place + 1];
    const end = next === undefined ? values.length : next;
    const isBridged = next === undefined ? (/** @type {number} */ at) => times[at] - times[index] <= SHORT_MS : isShort(known, times, place);
    for (let at = index + 1; at < end && isBridged(at); at++) filled[at] = values[index];
  }
  return filled;
}

/** @param {number[]} known @param {number[]} times @param {number} place @returns {(at: number) => boolean} */
function isShort(known, times, place) {
  const gapAfter = (/** @type {number} */ at) => (at >= 0 && at + 1 < known.length ? times[known[at + 1]] - times[known[at]] : 0);
  const usual = Math.max(gapAfter(place - 1), gapAfter(place + 1));
  const isGapShort = gapAfter(place) <= Math.max(SHORT_MS, MUCH_LONGER * usual);
  return () => isGapShort;
}
