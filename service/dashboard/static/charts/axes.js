// Axes: grid lines, ticks and labels around a plotting area.

import { svg } from "../dom.js";
import { shorten } from "../format.js";

export function plotArea(width, height, { left = 62, right = 14, top = 12, bottom = 44 } = {}) {
  return { left, top, right: width - right, bottom: height - bottom };
}

// `drop` leaves room between the plotting area and the labels below it.
export function drawAxes(overlay, area, x, y, { xLabel, yLabel, wholeX = false, drop = 0, grid: lined = true }) {
  const xTicks = x.ticks(Math.max(4, Math.floor((area.right - area.left) / 90))).filter((t) => !wholeX || Number.isInteger(t));
  const yTicks = y.ticks(Math.max(4, Math.floor((area.bottom - area.top) / 50)));
  const grid = svg("g", { class: "grid" });
  const ticks = svg("g", { class: "ticks" });
  for (const tick of yTicks) {
    grid.append(line(area.left, y(tick), area.right, y(tick)));
    ticks.append(text(area.left - 8, y(tick) + 4, "end", shorten(y.format(tick), 9)));
  }
  for (const tick of xTicks) {
    grid.append(line(x(tick), area.top, x(tick), area.bottom));
    ticks.append(text(x(tick), area.bottom + 17 + drop, "middle", shorten(x.format(tick), 12)));
  }
  const middle = (area.left + area.right) / 2;
  const names = svg("g", { class: "axis-names" });
  if (xLabel) names.append(text(middle, area.bottom + 36 + drop, "middle", shorten(xLabel, 60)));
  if (yLabel) {
    const name = text(0, 0, "middle", shorten(yLabel, 40));
    name.setAttribute("transform", `translate(13 ${(area.top + area.bottom) / 2}) rotate(-90)`);
    names.append(name);
  }
  overlay.append(...(lined ? [grid] : []), ticks, names);
}

export const line = (x1, y1, x2, y2, props = {}) => svg("line", { x1, y1, x2, y2, ...props });

export const text = (x, y, anchor, content, props = {}) => svg("text", { x, y, "text-anchor": anchor, ...props }, content);

export const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
