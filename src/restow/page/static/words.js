// @ts-check
/** What a consumer and a partition look like in words: for tooltips, the cursor and screen readers. Pure. */
import { counted, lagWords, percent, speed } from "./units.js";

/** @param {import("./picture.js").Loaded} loaded */
export function consumerLines({ number, status }) {
  const share = percent(status.load_bytes_per_s / status.capacity_bytes_per_s);
  return [
    `consumer ${number}: ${status.phase}`,
    `load ${speed(status.load_bytes_per_s)}, ${share} of its capacity`,
    `${counted(status.partitions, "partition")}, ${lagWords(status.lag)}`,
    ...(status.outdated ? ["runs with older settings"] : []),
  ];
}

/** @param {import("./picture.js").Place} place */
export function partitionLines({ key, status }) {
  const written = status.bytes_per_s === null ? "speed not measured yet" : `written at ${speed(status.bytes_per_s)}`;
  return [
    status.consumer === null ? `${key}: no consumer reads it` : `${key}: read by consumer ${status.consumer}`,
    `${written}, ${lagWords(status.lag)}`,
    ...(typeof status.moving_to === "number" ? [`moves to consumer ${status.moving_to}`] : []),
    ...(typeof status.refused_for_s === "number" ? ["a consumer refused it"] : []),
    ...(status.stuck ? ["stuck: its backlog does not shrink"] : []),
  ];
}

/** @param {import("./layout.js").Slice} slice */
export function sliceLines(slice) {
  if (slice.places.length === 1) return partitionLines(slice.places[0]);
  const bytes = slice.places.reduce((sum, place) => sum + (place.status.bytes_per_s ?? 0), 0);
  return [`${slice.topic}: ${counted(slice.places.length, "partition")}`, `written at ${speed(bytes)} together`];
}
