// Where the visitor is, in the address's hash: #/studies/ID/trials/3.

const ROUTES = [
  [/^\/?$/, "studies"],
  [/^\/new$/, "create"],
  [/^\/studies\/([^/]+)$/, "progress"],
  [/^\/studies\/([^/]+)\/(structure|factors|trials|about)$/, null],
  [/^\/studies\/([^/]+)\/trials\/(\d+)$/, "trial"],
];

export function parse(hash) {
  const path = hash.replace(/^#/, "");
  for (const [shape, name] of ROUTES) {
    const match = shape.exec(path);
    if (!match) continue;
    if (name === null) return { view: match[2], study: decodeURIComponent(match[1]) };
    return { view: name, study: match[1] && decodeURIComponent(match[1]), trial: match[2] && Number(match[2]) };
  }
  return { view: "lost" };
}

export function link(study, view = "", trial) {
  const parts = ["#/studies", encodeURIComponent(study)];
  if (view && view !== "progress") parts.push(view);
  if (trial !== undefined) parts.push(trial);
  return parts.join("/");
}

export function go(hash) {
  location.hash = hash;
}

// Calls `show` now and at every change; in-page anchors such as the skip link are left to the browser.
export function onRoute(show) {
  const changed = () => {
    if (location.hash === "" || location.hash.startsWith("#/")) show(parse(location.hash));
  };
  addEventListener("hashchange", changed);
  changed();
}
