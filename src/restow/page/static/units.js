// @ts-check
/** Numbers and times in words, as `restow status` writes them. Pure. */

/** 1 record, 2,000 records. @param {number} number @param {string} noun */
export function counted(number, noun) {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** 2,000. @param {number} number */
export function grouped(number) {
  return Math.round(number).toLocaleString("en-US");
}

/** 999 B, 1.5 kB, 32.0 MB: decimal units, as in restow.toml. @param {number} bytes */
export function sized(bytes) {
  if (bytes < 1000) return `${bytes.toFixed(0)} B`;
  for (const unit of ["kB", "MB", "GB"]) {
    bytes /= 1000;
    if (Math.round(bytes * 10) / 10 < 1000) return `${bytes.toFixed(1)} ${unit}`;
  }
  return `${(bytes / 1000).toFixed(1)} TB`;
}

/** @param {number} bytesPerS */
export function speed(bytesPerS) {
  return `${sized(bytesPerS)}/s`;
}

/** 104 %, 12.5 %, 0.03 %. @param {number} share */
export function percent(share) {
  const value = 100 * share;
  return value !== 0 && Math.abs(value) < 1 ? `${Number(value.toPrecision(2))} %` : `${Math.round(value * 10) / 10} %`;
}

/** For the large figures: no decimals. @param {number} share */
export function wholePercent(share) {
  return `${Math.round(100 * share)} %`;
}

/** 0.4 s, 12 s, 3 min 5 s, 2 h 10 min. @param {number} seconds */
export function span(seconds) {
  seconds = Math.max(0, seconds);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${seconds.toFixed(0)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  return minutes < 120 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** For what changes by itself each second: no decimals, and no more digits than one looks at. @param {number} seconds */
export function roughly(seconds) {
  seconds = Math.max(0, seconds);
  if (seconds < 90) return `${Math.floor(seconds)} s`;
  if (seconds < 5400) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} days`;
}

/** @param {import("./types.js").Lag | null | undefined} lag */
export function lagWords(lag) {
  if (!lag) return "unknown";
  if (!lag.records) return "caught up";
  const source = lag.source === "record timestamp" ? " by its timestamp" : "";
  const age = lag.seconds === null || lag.seconds === undefined ? "age unknown" : `${span(lag.seconds)} behind${source}`;
  return `${age}, ${counted(lag.records, "record")}`;
}

/** The local time of day; with the date if it was another day. @param {string | number | Date} time */
export function clock(time, now = new Date()) {
  const moment = new Date(time);
  const day = moment.toDateString() === now.toDateString() ? "" : `${moment.toLocaleDateString("en-CA")} `;
  return `${day}${moment.toLocaleTimeString("en-GB")}`;
}

/** The same to the minute, for axes. @param {number} time */
export function hourMinute(time) {
  return new Date(time).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

/** 2026-03-01 12:00:09 UTC. @param {string | number | Date} time */
export function utc(time) {
  const text = new Date(time).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)} UTC`;
}
