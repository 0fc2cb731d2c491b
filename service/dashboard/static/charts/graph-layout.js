// Where the nodes of a factor graph go. Each connected part is laid out by itself: a factor alone in the middle of its
// variables, factors that share variables by springs. The parts are then set in rows.

const APART = 46; // between neighbouring nodes, in pixels
const ROUNDS = 220;

export function layout(parameters, factors, width) {
  const parts = components(parameters, factors).map((part) => (part.factors.length === 1 ? star(part) : springs(part)));
  parts.sort((a, b) => b.height - a.height);
  return inRows(parts, width);
}

function components(parameters, factors) {
  const owner = new Map(parameters.map((name) => [name, { variables: [name], factors: [] }]));
  for (const [i, members] of factors.entries()) {
    const parts = [...new Set(members.map((name) => owner.get(name)))];
    const merged = { variables: parts.flatMap((p) => p.variables), factors: [...parts.flatMap((p) => p.factors), { index: i, members }] };
    for (const name of merged.variables) owner.set(name, merged);
  }
  return [...new Set(owner.values())];
}

function star({ variables, factors }) {
  const [{ index, members }] = factors;
  const radius = Math.max(APART, (members.length * APART) / (2 * Math.PI));
  const at = new Map(variables.map((name, k) => {
    const angle = -Math.PI / 2 + (2 * Math.PI * k) / variables.length;
    return [name, [radius * Math.cos(angle), radius * Math.sin(angle)]];
  }));
  return boxed(at, new Map([[index, [0, 0]]]), factors);
}

// Fruchterman and Reingold's springs, from a circle on which a factor stands among its variables.
function springs({ variables, factors }) {
  const nodes = [];
  const index = new Map();
  const add = (key) => { if (!index.has(key)) { index.set(key, nodes.length); nodes.push(key); } };
  for (const factor of factors) { add(`f${factor.index}`); for (const name of factor.members) add(`v${name}`); }
  const edges = factors.flatMap((f) => f.members.map((name) => [index.get(`f${f.index}`), index.get(`v${name}`)]));
  const n = nodes.length;
  const radius = (n * APART) / (2 * Math.PI);
  const at = nodes.map((_, k) => [radius * Math.cos((2 * Math.PI * k) / n), radius * Math.sin((2 * Math.PI * k) / n)]);
  for (let round = 0; round < ROUNDS; round += 1) step(at, edges, (1 - round / ROUNDS) * APART);
  const place = (key) => at[index.get(key)];
  return boxed(
    new Map(variables.map((name) => [name, place(`v${name}`)])),
    new Map(factors.map((f) => [f.index, place(`f${f.index}`)])),
    factors,
  );
}

function step(at, edges, limit) {
  const force = at.map(() => [0, 0]);
  const push = (a, b, strength) => {
    const [dx, dy] = [at[a][0] - at[b][0], at[a][1] - at[b][1]];
    const distance = Math.hypot(dx, dy) || 0.01;
    const size = strength(distance) / distance;
    force[a][0] += dx * size; force[a][1] += dy * size;
    force[b][0] -= dx * size; force[b][1] -= dy * size;
  };
  for (let a = 0; a < at.length; a += 1) for (let b = 0; b < a; b += 1) push(a, b, (d) => APART ** 2 / d);
  for (const [a, b] of edges) push(a, b, (d) => -(d ** 2) / (2.2 * APART));
  for (const [k, [fx, fy]] of force.entries()) {
    const size = Math.hypot(fx, fy) || 1;
    const move = Math.min(size, limit) / size;
    at[k] = [at[k][0] + fx * move, at[k][1] + fy * move];
  }
}

function boxed(variables, factors, members) {
  const points = [...variables.values(), ...factors.values()];
  const [xs, ys] = [points.map((p) => p[0]), points.map((p) => p[1])];
  const margin = 26;
  const [left, top] = [Math.min(...xs) - margin, Math.min(...ys) - margin];
  const moved = (map) => new Map([...map].map(([key, [x, y]]) => [key, [x - left, y - top]]));
  return {
    variables: moved(variables),
    factors: moved(factors),
    members,
    width: Math.max(...xs) + margin - left,
    height: Math.max(...ys) + margin - top,
  };
}

function inRows(parts, width) {
  const widest = Math.max(width, ...parts.map((part) => part.width));
  const placed = { variables: new Map(), factors: new Map(), width: 0, height: 0 };
  let [x, y, tall] = [0, 0, 0];
  for (const part of parts) {
    if (x > 0 && x + part.width > widest) { x = 0; y += tall; tall = 0; }
    for (const kind of ["variables", "factors"]) for (const [key, [px, py]] of part[kind]) placed[kind].set(key, [px + x, py + y]);
    x += part.width;
    tall = Math.max(tall, part.height);
    placed.width = Math.max(placed.width, x);
    placed.height = y + tall;
  }
  return placed;
}
