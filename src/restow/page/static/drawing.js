// @ts-check
/**
 * Draws bins on a canvas. Used by bins.js, which says where each slice is at this moment.
 * @typedef {import("./layout.js").Bin} Bin
 * @typedef {import("./layout.js").Slice} Slice
 * @typedef {import("./layout.js").Rect} Rect
 * @typedef {import("./layout.js").Layout} Layout
 * @typedef {import("./colours.js").Colours} Colours
 */
import { wholePercent } from "./units.js";

const LABELLED_W = 56; // px: narrower slices have no room for a name
const LABELLED_H = 13;

/**
 * @param {CanvasRenderingContext2D} pen @param {Layout} layout @param {Colours} colours
 * @param {(slice: Slice) => Rect | null} place  where a slice is now; null while it flies
 */
export function drawGroup(pen, layout, colours, place) {
  for (const bin of layout.bins) {
    for (const slice of bin.slices) {
      const rect = place(slice);
      if (rect) drawSlice(pen, slice, rect, colours, bin.loaded ? [bin.fillTo, bin.trigger] : []);
    }
    if (bin.backlog) drawBacklog(pen, bin.backlog, colours);
  }
  drawHulls(pen, layout, colours);
  for (const bin of layout.bins) drawLabel(pen, bin, layout, colours);
}

/** @param {CanvasRenderingContext2D} pen @param {Slice} slice @param {Rect} rect @param {Colours} colours
 * @param {number[]} levels  lines that its name keeps clear of */
export function drawSlice(pen, slice, rect, colours, levels = []) {
  const gap = rect.h >= 4 ? 1 : 0;
  pen.fillStyle = colours.topic(slice.topic);
  pen.fillRect(rect.x, rect.y + gap, rect.w, Math.max(rect.h - gap, 0.6));
  const only = slice.places.length === 1 ? slice.places[0] : null;
  if (only && typeof only.status.moving_to === "number") drawLeaving(pen, rect, gap, colours);
  const middle = only && rect.w >= LABELLED_W ? nameAt(rect, levels) : null;
  if (!only || middle === null) return;
  pen.font = `500 11px ${colours.font}`;
  pen.fillStyle = colours.label;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  const target = typeof only.status.moving_to === "number" ? ` → ${only.status.moving_to}` : "";
  pen.fillText(fitted(pen, only.key, target, rect.w - 12), rect.x + 6, middle + (gap + 1) / 2);
}

/** The middle of the tallest part of a slice that no line crosses; null if no part has room for a name.
 * @param {Rect} rect @param {number[]} levels @returns {number | null} */
export function nameAt(rect, levels) {
  const inside = levels.filter((y) => y > rect.y && y < rect.y + rect.h).sort((one, other) => one - other);
  const edges = [rect.y, ...inside, rect.y + rect.h];
  let [tallest, middle] = [0, rect.y];
  for (let part = 1; part < edges.length; part += 1) {
    const room = edges[part] - edges[part - 1];
    if (room > tallest) [tallest, middle] = [room, edges[part - 1] + room / 2];
  }
  return tallest >= LABELLED_H ? middle : null;
}

/** A dashed frame: the plan gives this partition to another consumer. @param {CanvasRenderingContext2D} pen
 * @param {Rect} rect @param {number} gap @param {Colours} colours */
function drawLeaving(pen, rect, gap, colours) {
  if (rect.h < 4) return;
  pen.strokeStyle = colours.label;
  pen.setLineDash([4, 3]);
  pen.lineWidth = 1;
  pen.strokeRect(rect.x + 1.5, rect.y + gap + 1.5, rect.w - 3, Math.max(1, rect.h - gap - 3));
  pen.setLineDash([]);
}

/** Hatched: work to catch up with, and no write speed. @param {CanvasRenderingContext2D} pen @param {Rect} rect
 * @param {Colours} colours */
function drawBacklog(pen, rect, colours) {
  pen.save();
  pen.beginPath();
  pen.rect(rect.x, rect.y, rect.w, rect.h);
  pen.clip();
  pen.beginPath();
  for (let x = rect.x - rect.h; x < rect.x + rect.w; x += 5) {
    pen.moveTo(x, rect.y + rect.h);
    pen.lineTo(x + rect.h, rect.y);
  }
  pen.strokeStyle = colours.muted;
  pen.lineWidth = 1;
  pen.stroke();
  pen.restore();
}

/** The holds, open at the top, and their margins: one path for all lines of a kind, because hundreds of strokes are slow.
 * @param {CanvasRenderingContext2D} pen @param {Layout} layout @param {Colours} colours */
function drawHulls(pen, layout, colours) {
  const isLarge = layout.size.w > 30;
  const reach = isLarge ? 5 : 0;
  const [ready, others, unread, triggers, fills] = Array.from({ length: 5 }, () => new Path2D());
  for (const bin of layout.bins) {
    hull(!bin.loaded ? unread : bin.loaded.status.phase === "ready" ? ready : others, bin);
    if (!bin.loaded) continue;
    level(triggers, bin, bin.trigger, reach);
    level(fills, bin, bin.fillTo, reach);
  }
  const width = isLarge ? 1.75 : 1;
  stroke(pen, ready, colours.line, width, []);
  stroke(pen, others, colours.line, width, [4, 3]);
  stroke(pen, unread, colours.warning, width, [4, 3]);
  if (isLarge) stroke(pen, triggers, colours.surface, 3.5, []); // slices below may have nearly its colour
  stroke(pen, triggers, colours.accent, isLarge ? 1.5 : 1, []);
  stroke(pen, fills, colours.muted, 1, layout.size.w > 20 ? [2, 3] : [1, 2]);
}

/** @param {Path2D} path @param {Bin} bin */
function hull(path, bin) {
  const top = bin.loaded ? bin.rim : bin.base - 6;
  path.moveTo(bin.x + 0.5, top);
  path.lineTo(bin.x + 0.5, bin.base);
  path.lineTo(bin.x + bin.w - 0.5, bin.base);
  path.lineTo(bin.x + bin.w - 0.5, top);
}

/** @param {Path2D} path @param {Bin} bin @param {number} y @param {number} reach */
function level(path, bin, y, reach) {
  path.moveTo(bin.x - reach, Math.round(y) + 0.5);
  path.lineTo(bin.x + bin.w + reach, Math.round(y) + 0.5);
}

/** @param {CanvasRenderingContext2D} pen @param {Path2D} path @param {string} colour @param {number} width
 * @param {number[]} dash */
function stroke(pen, path, colour, width, dash) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dash);
  pen.stroke(path);
  pen.setLineDash([]);
}

/** @param {CanvasRenderingContext2D} pen @param {Bin} bin @param {Layout} layout @param {Colours} colours */
function drawLabel(pen, bin, layout, colours) {
  const { w } = layout.size;
  const middle = bin.x + w / 2;
  pen.textAlign = "center";
  pen.textBaseline = "alphabetic";
  if (!bin.loaded) {
    pen.fillStyle = colours.warning;
    pen.font = `600 ${w >= 84 ? 13 : 10}px ${colours.font}`;
    pen.fillText(w >= 40 ? "unread" : "!", middle, bin.base + 16);
    return;
  }
  const { status, number } = bin.loaded;
  const share = status.load_bytes_per_s / status.capacity_bytes_per_s;
  if (w >= 40) {
    pen.fillStyle = colours.ink;
    pen.font = `600 13px ${colours.font}`;
    pen.fillText(String(number), middle, bin.base + 17);
    const isReady = status.phase === "ready";
    pen.font = `${isReady ? 400 : 600} ${w >= 60 ? 12 : 10.5}px ${colours.font}`;
    pen.fillStyle = isReady ? colours.muted : colours.warning;
    pen.fillText(isReady ? wholePercent(share) : status.phase, middle, bin.base + 32);
  } else if (w >= 26 || number % 10 === 0 || (bin.x === 0 && number % 10 < 8)) {
    pen.fillStyle = status.phase === "ready" ? colours.muted : colours.warning;
    pen.font = `10px ${colours.font}`;
    pen.fillText(String(number), middle, bin.base + 12);
  }
  if (bin.over) {
    const text = w >= 40 ? `▲ ${wholePercent(bin.over)}` : "▲";
    pen.font = `700 11px ${colours.font}`;
    pen.strokeStyle = colours.surface;
    pen.lineWidth = 5;
    pen.lineJoin = "round";
    pen.strokeText(text, middle, bin.top + 12);
    pen.fillStyle = colours.accent;
    pen.fillText(text, middle, bin.top + 12);
  }
}

/** The longest beginning of a name that fits, with what has to follow it. @param {CanvasRenderingContext2D} pen
 * @param {string} name @param {string} end @param {number} width */
function fitted(pen, name, end, width) {
  if (pen.measureText(name + end).width <= width) return name + end;
  const number = /-\d+$/.exec(name)?.[0] ?? "";
  let stem = name.slice(0, name.length - number.length);
  while (stem.length > 1 && pen.measureText(`${stem}…${number}${end}`).width > width) stem = stem.slice(0, -1);
  const text = `${stem}…${number}${end}`;
  return pen.measureText(text).width <= width ? text : "";
}
