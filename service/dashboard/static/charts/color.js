// Colours for numbers. The ramp runs from dark blue over green to yellow with rising lightness, so that it can be
// read without telling hues apart.

const STOPS = [[60, 20, 90], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

export function ramp(share) {
  const at = Math.min(1, Math.max(0, share)) * (STOPS.length - 1);
  const i = Math.min(STOPS.length - 2, Math.floor(at));
  return mix(STOPS[i], STOPS[i + 1], at - i);
}

export function mix(a, b, share) {
  return a.map((channel, k) => Math.round(channel + (b[k] - channel) * share));
}

export const css = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;

// The theme's colours, as charts on canvas need them.
export function theme() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

// From hardly there to outstanding, on whatever ground: for lines of which the best matter.
export function prominence() {
  const colour = theme();
  const stops = ["line", "accent", "best"].map((name) => rgb(colour(name)));
  return (share) => (share < 0.6 ? mix(stops[0], stops[1], share / 0.6) : mix(stops[1], stops[2], (share - 0.6) / 0.4));
}

export function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}
