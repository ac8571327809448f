// @ts-check
/** Colours of topics and of the drawing, from the style sheet's variables, so that both themes are in one place. */

const TOPICS = 8;

/**
 * @typedef {object} Colours
 * @property {string} ink
 * @property {string} muted
 * @property {string} line
 * @property {string} accent
 * @property {string} surface
 * @property {string} warning
 * @property {string} label  text on a topic's colour
 * @property {string} focus
 * @property {string} font
 * @property {(topic: string) => string} topic
 */

/** Topics in order of their names take the colours in turn. @param {string[]} topics @returns {Colours} */
export function coloursFor(topics) {
  const probe = document.body.appendChild(document.createElement("i"));
  const value = (/** @type {string} */ name) => {
    probe.style.color = `var(${name})`; // a canvas knows neither variables nor light-dark(): the browser resolves both
    return getComputedStyle(probe).color;
  };
  const palette = Array.from({ length: TOPICS }, (_, index) => value(`--topic-${index}`));
  const byTopic = new Map(topics.map((topic, index) => [topic, palette[index % TOPICS]]));
  const colours = {
    ink: value("--ink"),
    muted: value("--muted"),
    line: value("--line-strong"),
    accent: value("--accent"),
    surface: value("--surface"),
    warning: value("--warning"),
    label: value("--on-topic"),
    focus: value("--focus"),
    font: getComputedStyle(document.documentElement).fontFamily,
    topic: (/** @type {string} */ topic) => byTopic.get(topic) ?? palette[0],
  };
  probe.remove();
  return colours;
}

/** The class that gives an element the colour of a topic. @param {string[]} topics @param {string} topic */
export function topicClass(topics, topic) {
  return `topic-${Math.max(0, topics.indexOf(topic)) % TOPICS}`;
}
