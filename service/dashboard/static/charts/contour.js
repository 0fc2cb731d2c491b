// A mean over two variables: colour between grid points, lines of equal value, observations on top.

import { svg } from "../dom.js";
import { number } from "../format.js";
import { drawAxes, plotArea, text } from "./axes.js";
import { css, ramp } from "./color.js";
import { extent, linear, ofParameter } from "./scale.js";
import { surface } from "./surface.js";
import { tooltip } from "./tooltip.js";

const LEVELS = 8;

// `data()`: {px, py, xs, ys, means (by row of ys), sds, best: [x, y], observations: [[x, y]]}
export function contourChart(data, label, signal) {
  let find = () => null;
  const chart = surface(label, (width) => Math.min(440, Math.max(280, 0.75 * width)), draw, signal);
  const tip = tooltip(chart.element);

  function draw({ context, overlay, width, height }) {
    const { px, py, xs, ys, means, sds, best, observations } = data();
    const area = plotArea(width, height, { right: 74 });
    const x = ofParameter(px, [area.left, area.right]);
    const y = ofParameter(py, [area.bottom, area.top]);
    const [low, high] = extent(means.flat());
    const share = (value) => (high > low ? (value - low) / (high - low) : 0.5);
    paint(context, { xs, ys, means, x, y, area, share, steps: Boolean(px.values || py.values) });
    drawAxes(overlay, area, x, y, { xLabel: px.name, yLabel: py.name, grid: false });
    for (const level of linear([low, high], [0, 1]).ticks(LEVELS)) overlay.append(isoline(xs.map(x), ys.map(y), means, level));
    for (const [a, b] of observations) overlay.append(svg("circle", { class: "observation", cx: x(a), cy: y(b), r: 3 }));
    overlay.append(svg("circle", { class: "best-mark", cx: x(best[0]), cy: y(best[1]), r: 6 }));
    legend(context, overlay, area, low, high);
    find = (left, top) => {
      const i = closest(xs.map(x), left);
      const j = closest(ys.map(y), top);
      return { left: x(xs[i]), top: y(ys[j]), x: xs[i], y: ys[j], mean: means[j][i], sd: sds[j][i] };
    };
  }

  chart.element.addEventListener("pointermove", (event) => {
    const box = chart.element.getBoundingClientRect();
    const at = find(event.clientX - box.left, event.clientY - box.top);
    const { px, py } = data();
    if (at) tip.show(at.left, at.top, number(at.mean), [[px.name, number(at.x)], [py.name, number(at.y)], ["sd", number(at.sd)]]);
  });
  chart.element.addEventListener("pointerleave", tip.hide);
  return chart;
}

function paint(context, { xs, ys, means, x, y, area, share, steps }) {
  const size = 3; // pixels of one dot of colour
  const [columns, rows] = [xs.map(x), ys.map(y)];
  for (let top = area.top; top < area.bottom; top += size) {
    const j = position(rows, top);
    for (let left = area.left; left < area.right; left += size) {
      const i = position(columns, left);
      context.fillStyle = css(ramp(share(between(means, i, j, steps))));
      context.fillRect(left, top, size, size);
    }
  }
}

// Where `pixel` falls in an ascending or descending list, as a fraction.
function position(pixels, pixel) {
  const rising = pixels.at(-1) >= pixels[0];
  let i = 0;
  while (i < pixels.length - 2 && (rising ? pixels[i + 1] < pixel : pixels[i + 1] > pixel)) i += 1;
  const width = pixels[i + 1] - pixels[i];
  return Math.min(pixels.length - 1, Math.max(0, width ? i + (pixel - pixels[i]) / width : 0));
}

function between(means, i, j, steps) {
  if (steps) return means[Math.round(j)][Math.round(i)];
  const [i0, j0] = [Math.floor(i), Math.floor(j)];
  const [i1, j1] = [Math.min(i0 + 1, means[0].length - 1), Math.min(j0 + 1, means.length - 1)];
  const row = (k) => means[k][i0] + (means[k][i1] - means[k][i0]) * (i - i0);
  return row(j0) + (row(j1) - row(j0)) * (j - j0);
}

// Marching squares: the pieces of the line where the mean has this value.
function isoline(xs, ys, means, level) {
  const pieces = [];
  for (let j = 0; j + 1 < ys.length; j += 1) {
    for (let i = 0; i + 1 < xs.length; i += 1) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      const ends = [];
      for (let k = 0; k < 4; k += 1) {
        const [[ai, aj], [bi, bj]] = [corners[k], corners[(k + 1) % 4]];
        const [a, b] = [means[aj][ai], means[bj][bi]];
        if ((a < level) === (b < level)) continue;
        const t = (level - a) / (b - a);
        ends.push(`${(xs[ai] + t * (xs[bi] - xs[ai])).toFixed(1)} ${(ys[aj] + t * (ys[bj] - ys[aj])).toFixed(1)}`);
      }
      for (let k = 0; k + 1 < ends.length; k += 2) pieces.push(`M${ends[k]}L${ends[k + 1]}`);
    }
  }
  return svg("path", { class: "isoline", d: pieces.join(""), fill: "none" });
}

function closest(pixels, pixel) {
  return pixels.reduce((best, at, i) => (Math.abs(at - pixel) < Math.abs(pixels[best] - pixel) ? i : best), 0);
}

export function legend(context, overlay, area, low, high, colour = ramp) {
  const left = area.right + 14;
  for (let top = area.top; top < area.bottom; top += 1) {
    context.fillStyle = css(colour(1 - (top - area.top) / (area.bottom - area.top)));
    context.fillRect(left, top, 10, 1.5);
  }
  overlay.append(svg("g", { class: "ticks" },
    text(left + 14, area.top + 9, "start", number(high, 3)), text(left + 14, area.bottom, "start", number(low, 3))));
}
