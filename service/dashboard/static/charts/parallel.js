// Parallel coordinates: a line for each trial across the parameters' axes, coloured by value, the best on top.

import { svg } from "../dom.js";
import { number, parameterValue, shorten } from "../format.js";
import { toUnit } from "../space.js";
import { line, plotArea, text } from "./axes.js";
import { css, prominence } from "./color.js";
import { legend } from "./contour.js";
import { surface } from "./surface.js";

const MOST = 600; // lines: more would be a blot, and slow
const SHADES = 24;

// `data()`: {parameters, trials (completed ones), minimizes}
export function parallelChart(data, signal) {
  return surface("Parallel coordinates: parameters of trials, coloured by value", 330, draw, signal);

  function draw({ context, overlay, width, height }) {
    const { parameters, trials, minimizes } = data();
    const area = plotArea(width, height, { left: 26, right: 104, top: 34, bottom: 34 });
    const shown = thinned(trials, minimizes);
    const step = (area.right - area.left) / Math.max(1, parameters.length - 1);
    const at = parameters.map((_, j) => area.left + j * step);
    if (shown.length) {
      const values = shown.map((t) => t.value);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const colour = prominence();
      paint(context, shown, { parameters, at, area, ranks: ranked(shown), colour });
      legend(context, overlay, { ...area, right: area.right + 22 }, minimizes ? high : low, minimizes ? low : high, colour);
      overlay.append(svg("g", { class: "ticks" }, text(area.right + 36, area.top - 21, "start", "value")));
    }
    overlay.append(...parameters.flatMap((p, j) => axis(p, at[j], area, step)));
  }
}

// The best fifth of the places, and of the others every so many, worst first so that the best is drawn last.
function thinned(trials, minimizes) {
  const sorted = [...trials].sort((a, b) => (minimizes ? b.value - a.value : a.value - b.value));
  if (sorted.length <= MOST) return sorted;
  const top = Math.floor(MOST / 5);
  const rest = sorted.slice(0, -top);
  const every = rest.length / (MOST - top);
  return [...Array.from({ length: MOST - top }, (_, i) => rest[Math.floor(i * every)]), ...sorted.slice(-top)];
}

// Colour by rank: values may differ by orders of magnitude.
function ranked(shown) {
  return shown.map((_, i) => (shown.length === 1 ? 1 : i / (shown.length - 1)));
}

function paint(context, shown, { parameters, at, area, ranks, colour }) {
  const y = (unit) => area.bottom - unit * (area.bottom - area.top);
  context.lineWidth = shown.length > 200 ? 0.8 : 1.3;
  for (let shade = 0; shade < SHADES; shade += 1) {
    context.strokeStyle = css(colour(shade / (SHADES - 1)), shown.length > 200 ? 0.6 : 0.9);
    context.beginPath();
    for (const [i, trial] of shown.entries()) {
      if (Math.min(SHADES - 1, Math.floor(ranks[i] * SHADES)) !== shade) continue;
      for (const [j, parameter] of parameters.entries()) {
        const height = y(toUnit(parameter, trial.parameters[parameter.name]));
        if (j) context.lineTo(at[j], height);
        else context.moveTo(at[j], height);
      }
    }
    context.stroke();
  }
}

function axis(parameter, x, area, step) {
  const ends = parameter.values ? [parameter.values[0], parameter.values.at(-1)] : parameter.bounds;
  const room = Math.max(2, Math.floor(step / 7.5));
  const label = (value, top) => text(x, top, "middle", shorten(typeof value === "number" ? number(value, 3) : parameterValue(value), room));
  return [
    line(x, area.top, x, area.bottom, { class: "parallel-axis" }),
    svg("g", { class: "axis-names" }, text(x, area.top - 21, "middle", shorten(parameter.name, room))),
    svg("g", { class: "ticks" }, label(ends[1], area.top - 7), label(ends[0], area.bottom + 15)),
  ];
}
