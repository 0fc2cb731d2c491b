// Horizontal bars with their names and figures: plain HTML, read as a list.

import { h } from "../dom.js";

// `rows`: [{name, share (0 to 1), figure, colour (a class), mark}]
export function bars(rows, label) {
  return h("ul", { class: "bars", "aria-label": label }, rows.map(({ name, share, figure, colour = "" }) => {
    const fill = h("span", { class: `bar-fill ${colour}` });
    fill.style.width = `${(100 * Math.min(1, Math.max(0, share))).toFixed(2)}%`;
    return h("li", {},
      h("span", { class: "bar-name", title: name }, name),
      h("span", { class: "bar-track", "aria-hidden": "true" }, fill),
      h("span", { class: "bar-figure" }, figure));
  }));
}
