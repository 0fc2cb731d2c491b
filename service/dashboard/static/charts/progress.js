// Every observation over its trial number, and the best so far. Failed and running trials are marked on a strip below.
// The chart is a slider for the keyboard: arrows walk through the trials, Enter opens one.

import { svg } from "../dom.js";
import { count, number, parameterValue } from "../format.js";
import { bestSoFar } from "../study-model.js";
import { drawAxes, path, plotArea } from "./axes.js";
import { theme } from "./color.js";
import { extent, linear, padded } from "./scale.js";
import { surface } from "./surface.js";
import { tooltip } from "./tooltip.js";

const MARKS = { failed: "bad", abandoned: "muted", running: "warn" };
const NEAR = 28; // pixels
const STRIP = 16; // room below the values for trials that have none

export function progressChart(model, { open, signal, zoomed }) {
  let chosen = null;
  let places = [];
  const chart = surface("Values by trial", (width) => (width < 600 ? 300 : 380), draw, signal, {
    role: "slider", tabindex: "0", "aria-valuemin": "0", "aria-label": "Trials. Arrow keys move, Enter opens.",
  });
  const tip = tooltip(chart.element);

  function draw({ context, under, overlay, width, height }) {
    const { series, minimizes } = model;
    const area = plotArea(width, height, { bottom: 44 + STRIP });
    const best = bestSoFar(series, minimizes);
    const x = linear([-0.5, Math.max(9.5, model.total - 0.5)], [area.left, area.right]);
    const y = linear(padded(range(series.values, minimizes, zoomed())), [area.bottom, area.top]);
    const strip = area.bottom + 9;
    drawAxes(under, area, x, y, { xLabel: "trial", yLabel: "value", wholeX: true, drop: STRIP });
    places = place(series, x, y, area, strip);
    paintPoints(context, places, series);
    overlay.append(svg("path", { class: "best-line", d: path(staircase(best, x, y, area)), fill: "none" }));
    if (model.study.best) {
      const at = places[model.study.best.number];
      if (at) overlay.append(svg("circle", { class: "best-mark", cx: at.x, cy: at.y, r: 6 }));
    }
    mark(overlay);
  }

  function mark(overlay) {
    chart.element.setAttribute("aria-valuemax", Math.max(0, model.total - 1));
    chart.element.setAttribute("aria-valuenow", chosen ?? Math.max(0, model.total - 1));
    chart.element.setAttribute("aria-valuetext", describe(model, chosen ?? model.total - 1));
    if (chosen !== null && places[chosen]) {
      overlay.append(svg("circle", { class: "chosen", cx: places[chosen].x, cy: places[chosen].y, r: 9 }));
    }
  }

  async function choose(number) {
    if (number === chosen) return;
    chosen = number;
    chart.redraw();
    if (number === null) return tip.hide();
    const at = places[number];
    const show = (pairs) => chosen === number && tip.show(at.x, at.y, describe(model, number), pairs);
    show([]);
    const trial = await model.trial(number).catch(() => null);
    if (trial) show(Object.entries(trial.parameters).map(([name, value]) => [name, parameterValue(value)]));
  }

  chart.element.addEventListener("pointermove", (event) => {
    const box = chart.element.getBoundingClientRect();
    choose(nearest(places, event.clientX - box.left, event.clientY - box.top));
  });
  chart.element.addEventListener("pointerleave", () => choose(null));
  chart.element.addEventListener("blur", () => choose(null));
  chart.element.addEventListener("click", () => chosen !== null && open(chosen));
  chart.element.addEventListener("keydown", (event) => {
    const last = model.total - 1;
    const from = chosen ?? last + (event.key === "ArrowLeft" ? 1 : 0);
    const steps = { ArrowLeft: from - 1, ArrowRight: from + 1, ArrowDown: from - 1, ArrowUp: from + 1, PageUp: from + 10, PageDown: from - 10, Home: 0, End: last };
    if (event.key === "Enter" && chosen !== null) open(chosen);
    else if (event.key === "Escape") choose(null);
    else if (event.key in steps && last >= 0) choose(Math.min(last, Math.max(0, steps[event.key])));
    else return;
    event.preventDefault();
  });
  return chart;
}

// Whether a few extreme values would flatten the rest.
export function hasOutliers(values, minimizes) {
  const [all, better] = [extent(values), extent(betterPart(values, minimizes))];
  return all[1] - all[0] > 20 * (better[1] - better[0]) && better[1] > better[0];
}

function range(values, minimizes, zoomed) {
  return extent(zoomed ? betterPart(values, minimizes) : values);
}

function betterPart(values, minimizes) {
  const sorted = values.filter((v) => v !== null).sort((a, b) => (minimizes ? a - b : b - a));
  return sorted.slice(0, Math.max(2, Math.ceil(0.6 * sorted.length)));
}

function place({ numbers, states, values }, x, y, area, strip) {
  return numbers.map((n) => ({
    x: x(n),
    y: values[n] === null ? strip : y(values[n]),
    state: states[n],
    shown: values[n] === null || (y(values[n]) >= area.top - 1 && y(values[n]) <= area.bottom + 1),
  }));
}

function paintPoints(context, places, { origins }) {
  const colour = theme();
  const size = places.length > 1500 ? 1.6 : places.length > 400 ? 2.3 : 3.4;
  context.save();
  for (const [n, at] of places.entries()) {
    if (!at.shown) continue;
    if (at.state === "completed") {
      context.globalAlpha = places.length > 1500 ? 0.55 : 0.85;
      context.fillStyle = colour(origins[n] === "dumbo" ? "accent" : "other");
      context.beginPath();
      context.arc(at.x, at.y, size, 0, 2 * Math.PI);
      context.fill();
    } else {
      context.globalAlpha = 1;
      cross(context, at, colour(MARKS[at.state]));
    }
  }
  context.restore();
}

// Failed ones are crosses, running ones rings: told apart without colour.
function cross(context, at, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1.8;
  context.beginPath();
  if (at.state === "running") context.arc(at.x, at.y, 3.5, 0, 2 * Math.PI);
  else {
    context.moveTo(at.x - 3.5, at.y - 3.5);
    context.lineTo(at.x + 3.5, at.y + 3.5);
    context.moveTo(at.x - 3.5, at.y + 3.5);
    context.lineTo(at.x + 3.5, at.y - 3.5);
  }
  context.stroke();
}

// Where the axis is zoomed, the line begins at the edge it comes from.
function staircase(best, x, y, area) {
  const inside = (value) => Math.min(area.bottom, Math.max(area.top, y(value)));
  const outside = (value) => inside(value) !== y(value);
  const points = [];
  let last = null;
  for (const [n, value] of best.entries()) {
    if (value === null || value === last) continue;
    if (last !== null && !outside(value)) points.push([x(n), inside(last)]);
    if (!outside(value)) points.push([x(n), y(value)]);
    last = value;
  }
  if (points.length) points.push([x(best.length - 1), y(last)]);
  return points;
}

function nearest(places, x, y) {
  let found = null;
  let least = NEAR ** 2;
  for (const [n, at] of places.entries()) {
    const distance = (at.x - x) ** 2 + (at.y - y) ** 2;
    if (at.shown && distance < least) {
      least = distance;
      found = n;
    }
  }
  return found;
}

export function describe({ series, total }, n) {
  if (n < 0 || n >= total) return count(0, "trial");
  const value = series.values[n] === null ? series.states[n] : number(series.values[n], 6);
  return `Trial ${n}: ${value}`;
}
