// The factor graph: factors as squares, variables as circles, a line where a factor depends on a variable.

import { h, replace, svg } from "../dom.js";
import { shorten } from "../format.js";
import { line, text } from "./axes.js";
import { layout } from "./graph-layout.js";

const COLOURS = 8; // of factors, in charts.css

export function factorGraph(parameters, factors, names, width = 560) {
  const { variables, factors: squares, width: wide, height } = layout(parameters, factors, width);
  const label = `Factor graph: ${factors.length} factors over ${parameters.length} variables`;
  const drawing = svg("svg", { class: "graph", role: "img", "aria-label": label, viewBox: `0 0 ${Math.ceil(wide)} ${Math.ceil(height)}` });
  drawing.style.maxWidth = `${Math.ceil(wide * 1.25)}px`;
  const edges = svg("g", { class: "edges" });
  const nodes = svg("g");
  for (const [i, members] of factors.entries()) {
    const [x, y] = squares.get(i);
    for (const name of members) edges.append(line(x, y, ...variables.get(name), { class: `factor-${i % COLOURS}`, "data-factor": i }));
    nodes.append(square(x, y, i, names[i], members));
  }
  for (const [name, [x, y]] of variables) nodes.append(circle(x, y, name));
  replace(drawing, edges, nodes);
  highlight(drawing);
  return h("div", { class: "graph-box" }, drawing);
}

function square(x, y, i, name, members) {
  return svg("g", { class: `factor factor-${i % COLOURS}`, "data-factor": i },
    svg("title", {}, `${name}: ${members.join(", ")}`),
    svg("rect", { x: x - 13, y: y - 13, width: 26, height: 26, rx: 3 }),
    text(x, y + 4, "middle", shorten(name.replace(/^factor[_ ]/, ""), 3)));
}

function circle(x, y, name) {
  return svg("g", { class: "variable" },
    svg("title", {}, name),
    svg("circle", { cx: x, cy: y, r: 16 }),
    text(x, y + 3.5, "middle", shorten(name, 5)));
}

// Pointing at a factor shows its lines.
function highlight(drawing) {
  const over = (event) => {
    const factor = event.target.closest("[data-factor]")?.dataset.factor;
    drawing.classList.toggle("pointing", factor !== undefined);
    for (const part of drawing.querySelectorAll("[data-factor]")) part.classList.toggle("on", part.dataset.factor === factor);
  };
  drawing.addEventListener("pointerover", over);
  drawing.addEventListener("pointerleave", over);
}
