// @ts-check
/** Consumer-hours, against those of a group of fixed size. Pure. */

/**
 * @typedef {object} Savings
 * @property {number} hours  consumer-hours that the group used in the known part of the shown time
 * @property {number} fixedHours  those of a fixed group with as many consumers as ran at most in that time
 * @property {number} most
 * @property {number} knownS  how much of the shown time is known
 */

/**
 * Each value counts until the next time. Times without a value count for neither side.
 * @param {number[]} times  milliseconds, ascending
 * @param {(number | null)[]} consumers
 * @param {number} endMs
 * @returns {Savings | null} null if nothing is known
 */
export function savingsOf(times, consumers, endMs) {
  let used = 0;
  let known = 0;
  let most = 0;
  for (const [index, count] of consumers.entries()) {
    if (count === null) continue;
    const lasted = (Math.min(endMs, times[index + 1] ?? endMs) - times[index]) / 1000;
    if (lasted <= 0) continue;
    used += count * lasted;
    known += lasted;
    most = Math.max(most, count);
  }
  if (!known || !most) return null;
  return { hours: used / 3600, fixedHours: (most * known) / 3600, most, knownS: known };
}

/** 0.42, 7.9, 120. @param {number} hours */
export function hoursText(hours) {
  return hours < 1 ? hours.toFixed(2) : hours < 100 ? hours.toFixed(1) : hours.toFixed(0);
}
