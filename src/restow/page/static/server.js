// @ts-check
/**
 * Requests to the server of this page, with the token where there is one. The token lives in this tab's session storage
 * alone: it is not in addresses, cookies or the local storage, which other tabs and pages could read.
 */

const KEY = "restow-token";

/** An answer that is not 200. `words` are for people. */
export class Refused extends Error {
  /** @param {number} status @param {string} words */
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

/** Takes the token from the address (#token=…), and removes it there: addresses are copied, and kept in histories. */
export function takeTokenFromAddress() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return;
  keepToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname + location.search);
}

export function token() {
  return sessionStorage.getItem(KEY);
}

/** @param {string} text */
export function keepToken(text) {
  sessionStorage.setItem(KEY, text.trim());
}

export function forgetToken() {
  sessionStorage.removeItem(KEY);
}

/** @returns {Record<string, string>} */
function headers() {
  const known = token();
  return known ? { Authorization: `Bearer ${known}` } : {};
}

/** Raises Refused, or TypeError if the server can't be reached. @param {string} path @param {AbortSignal} [signal] */
export async function get(path, signal) {
  const answer = await fetch(path, { headers: headers(), signal, cache: "no-store" });
  return (await checked(answer)).json();
}

/** @param {string} path @param {object} body */
export async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { ...headers(), "Content-Type": "application/json" },
    body: JSON.stringify(body),
    cache: "no-store",
  });
  return (await checked(answer)).json();
}

/** The body of /api/events, as it arrives. @param {AbortSignal} signal @returns {Promise<ReadableStream<Uint8Array>>} */
export async function openEvents(signal) {
  const answer = await checked(await fetch("/api/events", { headers: headers(), signal, cache: "no-store" }));
  if (!answer.body) throw new Refused(answer.status, "the server sent no events");
  return answer.body;
}

/** @param {Response} answer */
async function checked(answer) {
  if (answer.ok) return answer;
  throw new Refused(answer.status, await wordsOf(answer));
}

/** @param {Response} answer */
async function wordsOf(answer) {
  const text = await answer.text();
  try {
    const plain = JSON.parse(text);
    return String(plain.error ?? plain.why ?? plain.detail ?? text);
  } catch {
    return text || `the server answered ${answer.status}`;
  }
}
