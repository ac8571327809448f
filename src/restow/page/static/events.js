// @ts-check
/**
 * Server-sent events, read with fetch: an EventSource can't send the token in a header, and a token in an address ends up
 * in logs.
 */

/**
 * Calls `take` for each event, and `heard` for every chunk, heartbeats included. Returns when the stream ends.
 * @param {ReadableStream<Uint8Array>} body
 * @param {(name: string, data: any) => void} take
 * @param {() => void} heard
 */
export async function readEvents(body, take, heard) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  /** @type {string[]} of an event that has not ended: a large picture comes in many pieces */
  let pieces = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    const isEnd = value.includes("\n\n") || (value.startsWith("\n") && pieces.at(-1)?.endsWith("\n"));
    pieces.push(value);
    if (!isEnd) continue;
    const blocks = pieces.join("").split("\n\n");
    pieces = [blocks.pop() ?? ""];
    for (const block of blocks) {
      const event = parsed(block);
      if (event) take(event.name, event.data);
    }
  }
}

/** Returns null for a comment, which is a heartbeat. @param {string} block */
export function parsed(block) {
  let name = "message";
  const lines = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) lines.push(line.slice(5));
  }
  return lines.length ? { name, data: JSON.parse(lines.join("\n")) } : null;
}
