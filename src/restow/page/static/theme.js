// @ts-check
/** Light, dark, or as the system has it. The choice is kept for this browser. */
import { byId, setText } from "./dom.js";

const KEY = "restow-theme";
const NEXT = /** @type {const} */ ({ auto: "light", light: "dark", dark: "auto" });
const WORDS = { auto: "◐ Auto", light: "○ Light", dark: "● Dark" };

/** @param {() => void} onChange */
export function followTheme(onChange) {
  const button = byId("theme");
  let theme = /** @type {keyof typeof NEXT} */ (stored() ?? "auto");
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    setText(button, WORDS[theme]);
    button.setAttribute("aria-label", `Colours: ${theme}. Change to ${NEXT[theme]}`);
  };
  button.addEventListener("click", () => {
    theme = NEXT[theme];
    store(theme);
    apply();
    onChange();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", onChange);
  apply();
}

function stored() {
  try {
    const theme = localStorage.getItem(KEY);
    return theme && theme in NEXT ? theme : null;
  } catch {
    return null; // a browser may forbid it
  }
}

/** @param {string} theme */
function store(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    return; // then the choice lasts as long as the page
  }
}
