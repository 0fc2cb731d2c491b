// A few lines over whole numbers, on a logarithmic axis: residuals by iteration.

import { svg } from "../dom.js";
import { drawAxes, path, plotArea } from "./axes.js";
import { extent, linear, log } from "./scale.js";
import { surface } from "./surface.js";

// `lines`: [{values, colour}]
export function linesChart(lines, label, xLabel, signal) {
  return surface(label, 240, ({ under, overlay, width, height }) => {
    const area = plotArea(width, height);
    const positive = lines.flatMap((l) => l.values).filter((v) => v > 0);
    const [low, high] = extent(positive);
    const longest = Math.max(...lines.map((l) => l.values.length));
    const x = linear([1, Math.max(2, longest)], [area.left, area.right]);
    const y = log([low / 1.5, high * 1.5], [area.bottom, area.top]);
    drawAxes(under, area, x, y, { xLabel, wholeX: true });
    for (const { values, colour } of lines) {
      const points = values.map((v, i) => [x(i + 1), v > 0 ? y(v) : area.bottom]);
      overlay.append(svg("path", { class: `line ${colour}`, d: path(points), fill: "none" }));
      for (const [cx, cy] of points) overlay.append(svg("circle", { class: `dot ${colour}`, cx, cy, r: 2.5 }));
    }
  }, signal);
}
