// A study's progress at a glance: the best value after each improvement.

import { svg } from "../dom.js";
import { path } from "./axes.js";
import { extent, linear } from "./scale.js";

const WIDTH = 120;
const HEIGHT = 28;

export function sparkline({ numbers, values }, total, minimizes) {
  const x = linear([0, Math.max(1, total - 1)], [2, WIDTH - 4]);
  const y = linear(extent(values), [HEIGHT - 4, 4]);
  const points = [];
  for (const [i, value] of values.entries()) {
    if (i) points.push([x(numbers[i]), y(values[i - 1])]);
    points.push([x(numbers[i]), y(value)]);
  }
  if (points.length === 0) return svg("svg", { class: "sparkline", "aria-hidden": "true" });
  points.push([x(Math.max(1, total - 1)), y(values.at(-1))]);
  const label = `${minimizes ? "fell" : "rose"} ${values.length - 1} times`;
  return svg("svg", { class: "sparkline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": `The best value ${label}` },
    svg("path", { d: path(points), fill: "none" }),
    svg("circle", { cx: points.at(-1)[0], cy: points.at(-1)[1], r: 2.6 }));
}
