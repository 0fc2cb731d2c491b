// A study's search space: parameters to the unit interval and back, grids and samples for predictions.

export function toUnit(parameter, value) {
  if (parameter.values) {
    const last = parameter.values.length - 1;
    return last === 0 ? 0.5 : parameter.values.indexOf(value) / last;
  }
  const [low, high] = parameter.bounds;
  if (low === high) return 0.5;
  if (parameter.scale === "log") return Math.log(value / low) / Math.log(high / low);
  return (value - low) / (high - low);
}

export function fromUnit(parameter, unit) {
  if (parameter.values) return parameter.values[Math.round(unit * (parameter.values.length - 1))];
  const [low, high] = parameter.bounds;
  const value = parameter.scale === "log" ? low * (high / low) ** unit : low + unit * (high - low);
  const inside = Math.min(high, Math.max(low, value));
  return parameter.type === "int" ? Math.round(inside) : inside;
}

// Distinct values along one parameter, at most so many.
export function grid(parameter, size) {
  const steps = parameter.values ? parameter.values.length : size;
  const values = Array.from({ length: steps }, (_, i) => fromUnit(parameter, steps === 1 ? 0.5 : i / (steps - 1)));
  return [...new Set(values)];
}

// Points spread over the whole space by the additive recurrence of Kronecker: the same every time.
export function spread(parameters, size) {
  const steps = parameters.map((_, j) => (Math.sqrt(prime(j)) % 1));
  return Array.from({ length: size }, (_, i) =>
    Object.fromEntries(parameters.map((p, j) => [p.name, fromUnit(p, ((i + 1) * steps[j]) % 1)])));
}

const PRIMES = [2];
function prime(index) {
  for (let n = PRIMES.at(-1) + 1; PRIMES.length <= index; n += 1) {
    if (PRIMES.every((p) => p * p > n || n % p !== 0)) PRIMES.push(n);
  }
  return PRIMES[index];
}

// What a person typed: a number where it is one, nothing where nothing was typed, and text otherwise, for the
// server to judge.
export function typed(text) {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : trimmed;
}

// A list such as: 16, 32, 64   or: adam, sgd, "1"   where quotes keep text what it is.
export function typedList(text) {
  const items = text.match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [];
  return items.map((item) => item.trim()).filter((item) => item !== "").map((item) => {
    if (item.startsWith('"') && item.endsWith('"') && item.length > 1) return item.slice(1, -1).replace(/\\(.)/g, "$1");
    if (item === "true" || item === "false") return item === "true";
    return typed(item);
  });
}
