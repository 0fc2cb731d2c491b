// What the model believes of the objective's structure: the factor graph, who belongs with whom, and how that changed.

import { get, studyPath } from "../api.js";
import { factorGraph } from "../charts/graph.js";
import { heatmap } from "../charts/heatmap.js";
import { blockOrder } from "../charts/order.js";
import { h, replace } from "../dom.js";
import { count, number, percent } from "../format.js";
import { factorNames } from "../factors.js";
import { attempt, card, field, select } from "./parts.js";

const DRAWN = 300; // parameters; clustering and drawing more would take seconds
const MODES = {
  known: "given with the study",
  infer: "inferred from the results",
  random: "drawn at random",
  none: "none: one factor of all parameters",
};

export async function structureTab({ panel, model, signal }) {
  let shown = null; // the structure on the screen, as the API gave it
  let order = [];
  let wanted = null;
  const cache = new Map();
  const sample = select([], "");
  const graph = h("div");
  const list = h("div");
  const pairs = h("div");
  const when = h("output", { class: "when" });
  const slider = h("input", { type: "range", min: 0, step: 1, "aria-label": "Structure as of the ask for trial" });
  const history = h("div", { class: "history" }, h("span", { class: "muted" }, "As of"), slider, when);
  const map = heatmap(() => ({ ...(shown?.co_occurrence ?? { parameters: [], matrix: [] }), order }), signal);
  let asks = [];
  let follows = true; // the slider stays at the newest ask until somebody moves it

  replace(panel,
    card("Factor graph", h("p", { class: "muted", id: "mode" }), h("div", { class: "toolbar" }, history, field("Decomposition", sample)), graph, list),
    h("div", { class: "columns uneven" },
      card("Who shares a factor with whom", h("p", { class: "muted" }, "Over all samples, by weight; ordered so that blocks show."), map.element),
      pairs));

  async function load() {
    const at = follows || asks.length === 0 ? null : asks[Number(slider.value)];
    const name = at ?? `now, at revision ${model.study.revision}`;
    wanted = name;
    if (!cache.has(name)) cache.set(name, await get(studyPath(model.id, "decomposition"), { query: { at }, signal }));
    if (wanted !== name || shown === cache.get(name)) return; // the slider has moved on, or nothing is new
    shown = cache.get(name);
    draw(at);
  }

  function draw(at) {
    const { parameters, matrix } = shown.co_occurrence;
    order = parameters.length <= DRAWN ? blockOrder(matrix) : [...new Set(shown.map.flat().map((name) => parameters.indexOf(name)))];
    replace(panel.querySelector("#mode"), `Structure ${MODES[shown.mode]}; ${count(shown.samples.length, "sample")}.`);
    replace(when, at === null ? (asks.length ? `now (trial ${asks.at(-1)})` : "now") : `trial ${at}`);
    const chosen = sample.value;
    replace(sample, h("option", { value: "" }, "Most probable"), shown.samples.map((s, i) =>
      h("option", { value: i }, `Sample ${i + 1}${s.weight === null ? "" : `, weight ${percent(s.weight)}`}`)));
    sample.value = chosen !== "" && Number(chosen) < shown.samples.length ? chosen : "";
    drawGraph();
    map.redraw();
    replace(pairs, matrix.flat().some((share) => share > 0 && share < 1) ? card("How sure the factors are", sureness(shown)) : null);
  }

  function drawGraph() {
    const factors = sample.value === "" ? shown.map : shown.samples[Number(sample.value)].factors;
    const names = factorNames(model.study, factors.length);
    const width = Math.min(1100, panel.clientWidth - 60);
    const { parameters } = shown.co_occurrence;
    replace(graph, parameters.length <= DRAWN ? factorGraph(parameters, factors, names, width) : null);
    replace(list, factorList(factors, names, sample.value === "" ? null : shown.samples[Number(sample.value)]));
  }

  function refresh() {
    asks = model.series.numbers.filter((n) => model.series.origins[n] === "dumbo");
    history.hidden = asks.length < 2 || model.study.decomposition.mode === "known";
    slider.max = Math.max(0, asks.length - 1);
    if (follows) slider.value = slider.max;
    return load();
  }

  const message = h("p", { class: "error", role: "alert" });
  panel.append(message);
  slider.addEventListener("input", () => {
    follows = Number(slider.value) === asks.length - 1;
    slider.setAttribute("aria-valuetext", `trial ${asks[Number(slider.value)]}`);
    attempt(message, load);
  });
  sample.addEventListener("change", drawGraph);
  model.addEventListener("change", () => attempt(message, refresh), { signal });
  await refresh();
}

function factorList(factors, names, sample) {
  const evidence = sample?.log_evidence ?? null;
  return h("details", {},
    h("summary", {}, `${count(factors.length, "factor")}, in words${evidence === null ? "" : `; log evidence ${number(evidence)}`}`),
    h("ol", { class: "plain" }, factors.map((members, i) => h("li", {}, h("strong", {}, `${names[i]}: `), members.join(", ")))));
}

// For each factor of the most probable decomposition: how often its parameters are together in the samples, or how often
// a parameter is alone.
function sureness({ map, co_occurrence: { parameters, matrix } }) {
  const index = new Map(parameters.map((name, j) => [name, j]));
  const rows = map.map((members) => [members, together(members.map((name) => index.get(name)), matrix)]).sort((a, b) => b[1] - a[1]);
  return [
    h("p", { class: "muted" }, "Weight of the samples in which its parameters are together, pair by pair; of a parameter by itself, in which it is alone."),
    h("table", { class: "pairs" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Factor"), h("th", { scope: "col" }, "Weight"))),
      h("tbody", {}, rows.map(([members, share]) => h("tr", {}, h("td", {}, members.join(", ")), h("td", { class: "number" }, percent(share)))))),
  ];
}

function together(members, matrix) {
  if (members.length === 1) return 1 - Math.max(0, ...matrix[members[0]].filter((_, j) => j !== members[0]));
  const pairs = members.flatMap((a, i) => members.slice(i + 1).map((b) => matrix[a][b]));
  return pairs.reduce((sum, share) => sum + share, 0) / pairs.length;
}
