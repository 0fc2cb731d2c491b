// Filters as people type them: "x1 > 0.5, origin = dumbo". Words without a comparison are looked for in the trial's text.

const COMPARISON = /^(.+?)\s*(<=|>=|!=|<|>|=)\s*(.+)$/;
const OWN = new Set(["number", "value", "state", "origin", "client_id", "reason", "sem"]);

// What to keep, and a sentence if a part could not be understood.
export function filter(text, study) {
  const names = new Set(study.parameters.map((p) => p.name));
  const choices = study.parameters.filter((p) => p.values).map((p) => p.name);
  const tests = [];
  for (const part of text.split(",").map((p) => p.trim()).filter(Boolean)) {
    const match = COMPARISON.exec(part);
    if (!match) {
      tests.push(containing(part, choices));
      continue;
    }
    const [, name, sign, wanted] = match;
    if (!names.has(name) && !OWN.has(name)) return { keep: () => true, problem: `There is no parameter ${name}.` };
    const read = names.has(name) ? (trial) => trial.parameters[name] : (trial) => trial[name];
    tests.push(comparing(read, sign, wanted));
  }
  return { keep: (trial) => tests.every((test) => test(trial)) };
}

const HOLDS = {
  "<": (order) => order < 0, ">": (order) => order > 0, "<=": (order) => order <= 0, ">=": (order) => order >= 0,
  "=": (order) => order === 0, "!=": (order) => order !== 0,
};

// Numbers are compared as numbers, everything else as text; what has no value compares with nothing.
function comparing(read, sign, wanted) {
  const size = Number(wanted);
  const holds = HOLDS[sign];
  return (trial) => {
    const value = read(trial);
    if (value === null) return sign === "!=";
    const asNumber = typeof value === "number" && !Number.isNaN(size);
    return holds(asNumber ? value - size : String(value).localeCompare(wanted));
  };
}

function containing(part, choices) {
  const wanted = part.toLowerCase();
  const found = (value) => value !== null && String(value).toLowerCase().includes(wanted);
  return (trial) => found(trial.number) || found(trial.state) || found(trial.origin) || found(trial.client_id)
    || found(trial.reason) || choices.some((name) => found(trial.parameters[name]));
}
