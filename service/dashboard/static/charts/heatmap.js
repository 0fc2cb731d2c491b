// How often two parameters share a factor, as coloured cells in a given order.

import { svg } from "../dom.js";
import { percent, shorten } from "../format.js";
import { text } from "./axes.js";
import { css, mix, rgb, theme } from "./color.js";
import { surface } from "./surface.js";
import { tooltip } from "./tooltip.js";

const WIDEST = 560;
const LABELLED = 40; // beyond so many names cannot be read

export function heatmap(data, signal) {
  let cell = 0;
  let corner = 0;
  let left = 0; // of the whole, so that it stands in the middle
  const chart = surface("How often two parameters share a factor", (width) => Math.min(width, WIDEST), draw, signal);
  const tip = tooltip(chart.element);

  function draw({ context, overlay, width, height }) {
    const { parameters, matrix, order } = data();
    const named = order.length <= LABELLED;
    corner = named ? Math.min(90, 14 + 6.5 * Math.max(...parameters.map((p) => Math.min(12, [...p].length)))) : 4;
    cell = (Math.min(width, height) - corner - 4) / order.length;
    left = (width - Math.min(width, height)) / 2;
    context.translate(left, 0);
    paint(context, matrix, order, corner, cell);
    const labels = svg("g", { transform: `translate(${left} 0)` });
    if (named) for (const [k, j] of order.entries()) labels.append(...names(parameters[j], corner, cell, k));
    overlay.append(labels);
  }

  chart.element.addEventListener("pointermove", (event) => {
    const { parameters, matrix, order } = data();
    const box = chart.element.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left - corner) / cell);
    const row = Math.floor((event.clientY - box.top - corner) / cell);
    const [a, b] = [order[row], order[column]];
    if (a === undefined || b === undefined) return tip.hide();
    tip.show(event.clientX - box.left, event.clientY - box.top, percent(matrix[a][b]), [[parameters[a], ""], [parameters[b], ""]]);
  });
  chart.element.addEventListener("pointerleave", tip.hide);
  return chart;
}

function paint(context, matrix, order, corner, cell) {
  const colour = theme();
  const [low, high] = [rgb(colour("cell-low")), rgb(colour("cell-high"))];
  const gap = cell > 8 ? 1 : 0;
  for (const [row, a] of order.entries()) {
    for (const [column, b] of order.entries()) {
      context.fillStyle = css(mix(low, high, matrix[a][b]));
      context.fillRect(corner + column * cell, corner + row * cell, cell - gap + 0.3, cell - gap + 0.3);
    }
  }
}

function names(name, corner, cell, k) {
  const at = corner + (k + 0.5) * cell;
  const size = Math.max(8, Math.min(12, cell * 0.8));
  const above = text(0, 0, "start", shorten(name, 12), { "font-size": size, transform: `translate(${at + size / 3} ${corner - 5}) rotate(-90)` });
  return [text(corner - 6, at + size / 3, "end", shorten(name, 12), { "font-size": size }), above];
}
