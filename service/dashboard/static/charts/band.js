// A mean with its band over one variable, and the observations.

import { svg } from "../dom.js";
import { number } from "../format.js";
import { drawAxes, path, plotArea } from "./axes.js";
import { extent, linear, ofParameter, padded } from "./scale.js";
import { surface } from "./surface.js";
import { tooltip } from "./tooltip.js";

const SPREAD = 1.96; // standard deviations to 95 %

// `data()`: {parameter, xs, means, sds, best, observations: [[x, y or null]], yLabel}
export function bandChart(data, label, signal) {
  let places = [];
  const chart = surface(label, (width) => (width < 600 ? 260 : 320), draw, signal);
  const tip = tooltip(chart.element);

  function draw({ under, overlay, width, height }) {
    const { parameter, xs, means, sds, best, observations, yLabel } = data();
    const area = plotArea(width, height);
    const x = ofParameter(parameter, [area.left, area.right]);
    const [low, high] = [means.map((m, i) => m - SPREAD * sds[i]), means.map((m, i) => m + SPREAD * sds[i])];
    const y = linear(padded(extent([...low, ...high, ...observations.map((o) => o[1])])), [area.bottom, area.top]);
    drawAxes(under, area, x, y, { xLabel: parameter.name, yLabel });
    overlay.append(svg("line", { class: "best-here", x1: x(best), x2: x(best), y1: area.top, y2: area.bottom }));
    if (parameter.values) overlay.append(...bars(xs, low, high, means, x, y));
    else {
      const edge = [...xs.map((v, i) => [x(v), y(high[i])]), ...xs.map((v, i) => [x(v), y(low[i])]).reverse()];
      overlay.append(svg("path", { class: "band", d: `${path(edge)}Z` }));
      overlay.append(svg("path", { class: "mean", d: path(xs.map((v, i) => [x(v), y(means[i])])), fill: "none" }));
    }
    for (const [at, value] of observations) overlay.append(observation(x(at), value === null ? null : y(value), area));
    places = xs.map((v, i) => [x(v), y(means[i]), v, means[i], sds[i]]);
  }

  chart.element.addEventListener("pointermove", (event) => {
    const left = event.clientX - chart.element.getBoundingClientRect().left;
    const near = places.reduce((a, b) => (Math.abs(a[0] - left) <= Math.abs(b[0] - left) ? a : b), places[0]);
    if (near) tip.show(near[0], near[1], `${data().parameter.name} = ${number(near[2])}`, [["mean", number(near[3])], ["sd", number(near[4])]]);
  });
  chart.element.addEventListener("pointerleave", tip.hide);
  return chart;
}

// A dot, or a tick at the foot where only the place is known.
function observation(x, y, area) {
  if (y === null) return svg("line", { class: "rug", x1: x, x2: x, y1: area.bottom - 8, y2: area.bottom });
  return svg("circle", { class: "observation", cx: x, cy: y, r: 3 });
}

function bars(xs, low, high, means, x, y) {
  return xs.flatMap((value, i) => [
    svg("rect", { class: "band", x: x(value) - 12, width: 24, y: y(high[i]), height: Math.max(1, y(low[i]) - y(high[i])) }),
    svg("line", { class: "mean", x1: x(value) - 12, x2: x(value) + 12, y1: y(means[i]), y2: y(means[i]) }),
  ]);
}
