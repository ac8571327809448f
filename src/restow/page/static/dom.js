// @ts-check
/** The few things that every module does with the document. Text is always set as text, never as markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Object<string, string | boolean | null | undefined>} [attributes] false, null and undefined are left out
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAll(made, attributes);
  made.append(...children.filter((child) => child !== null));
  return made;
}

/**
 * @param {string} tag
 * @param {Object<string, string | number | null>} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function shape(tag, attributes = {}, ...children) {
  const made = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  setAll(made, attributes);
  made.append(...children);
  return made;
}

/** @param {Element} target @param {Object<string, string | number | boolean | null | undefined>} attributes */
function setAll(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) target.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) target.setAttribute(name, String(value));
  }
}

/** The element of index.html with this id. @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no element #${id}`);
  return found;
}

/** Sets a text only if it differs: no layout, and no announcement, for nothing. @param {Node} target @param {string} text */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** A time, in local time, with UTC on hover. @param {string} time @param {string} words @param {string} precise */
export function timeElement(time, words, precise) {
  return element("time", { datetime: time, title: precise }, words);
}
