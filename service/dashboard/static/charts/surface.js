// A chart's ground: an SVG for axes and grid, a canvas for what is many, and an SVG above for what is few. Drawn again
// when size or theme change.

import { h, replace, svg } from "../dom.js";

// `draw({context, under, overlay, width, height})` paints; the caller calls `redraw` when its data changed.
export function surface(label, height, draw, signal, props = {}) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const under = svg("svg", { "aria-hidden": "true" });
  const overlay = svg("svg", { "aria-hidden": "true" });
  const element = h("div", { class: "chart", role: "img", "aria-label": label, ...props }, under, canvas, overlay);
  let width = 0;
  let waiting = false;

  const paint = () => {
    waiting = false;
    if (width === 0) return;
    const tall = typeof height === "function" ? height(width) : height;
    const ratio = devicePixelRatio || 1;
    element.style.height = `${tall}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(tall * ratio);
    for (const layer of [under, overlay]) {
      layer.setAttribute("viewBox", `0 0 ${width} ${tall}`);
      replace(layer);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw({ context, under, overlay, width, height: tall });
  };
  const redraw = () => {
    if (!waiting) {
      waiting = true;
      requestAnimationFrame(paint);
    }
  };
  const observer = new ResizeObserver(([entry]) => {
    width = Math.floor(entry.contentRect.width);
    redraw();
  });
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
  document.addEventListener("themechange", redraw, { signal });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw, { signal });
  return { element, redraw };
}
