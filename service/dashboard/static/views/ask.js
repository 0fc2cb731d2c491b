// How an ask was made: by whom, in which seconds, with which decompositions, and how ADMM went.

import { bars } from "../charts/bars.js";
import { linesChart } from "../charts/lines.js";
import { h } from "../dom.js";
import { count, number, percent, seconds, time } from "../format.js";
import { card, dl } from "./parts.js";

const ORIGINS = {
  initial: "Initial: a point of the space-filling design that comes before the model.",
  dumbo: "DuMBO: the model's proposal, the maximum of the acquisition function found by ADMM.",
  random: "Random: the model could not propose a new point in time.",
};
const PHASES = { fit: "fit the model", sample: "sample decompositions", condition: "condition on the results", maximise: "maximise the acquisition" };
const MOST_WEIGHTS = 6; // of a ridge that are said, ...
const LEAST_WEIGHT = 0.05; // ... and the least of them, of the heaviest
const STOPS = { residuals: "the residuals were small enough", iterations: "the iterations were used up", deadline: "the time was up" };

export function askCards(trial, ask, model, signal) {
  const { diagnostics } = ask;
  const searches = [diagnostics.admm ?? []].flat();
  const modelled = trial.number - ask.first_trial - (ask.count - searches.length);
  const search = searches[modelled] ?? null;
  return [
    card("How it was made",
      h("p", {}, ORIGINS[trial.origin] ?? `Origin: ${trial.origin}.`),
      notes(diagnostics),
      dl([
        ["asked", time(ask.created_at)],
        ["trials of this ask", ask.count === 1 ? "1" : `${ask.count} (${ask.first_trial} to ${ask.first_trial + ask.count - 1})`],
        ...modelFacts({ ...diagnostics, ...search }, ask.decomposition), // of several points each has a model of its own
        ...expectation(search?.expected, trial.value),
      ])),
    h("div", { class: "columns" },
      Object.keys(diagnostics.seconds ?? {}).length ? secondsCard(diagnostics.seconds) : null,
      search ? acquisitionCard(search) : null),
    search ? residualsCard(search, signal) : null,
  ];
}

function notes({ fallbacks = [], cut_short: cut = [] }) {
  const sentences = [...fallbacks.map((text) => `Fallback: ${text}.`), ...cut.map((phase) => `The deadline ended this phase early: ${PHASES[phase] ?? phase}.`)];
  return sentences.length ? h("ul", { class: "notice" }, sentences.map((text) => h("li", {}, text))) : null;
}

function modelFacts({ model, hopeful, feature, acceptance_rate: acceptance, fit_evaluations: fits, log_evidence: evidence, beta, n_factors: sizes }, decomposition) {
  const facts = [];
  if (model) facts.push(["model", model]);
  if (hopeful) facts.push(["mean", "held at that of the outputs, so that unknown places promise more"]);
  if (feature) facts.push(["feature", described(feature)]);
  if (decomposition) facts.push(["decompositions", count(decomposition.samples.length, "sample")]);
  if (sizes?.length) facts.push(["factors", [...new Set(sizes)].sort((a, b) => a - b).join(", ")]);
  if (typeof acceptance === "number") facts.push(["acceptance rate", percent(acceptance)]);
  if (evidence?.length) facts.push(["log evidence", number(Math.max(...evidence))]);
  if (typeof fits === "number") facts.push(["evaluations of the fit", number(fits)]);
  if (typeof beta === "number") facts.push(["exploration β", number(beta)]);
  return facts;
}

function expectation(expected, value) {
  if (!expected) return [];
  const facts = [["expected value", `${number(expected.mean)}, give or take ${number(expected.sd, 2)}`]];
  if (typeof value === "number" && expected.sd > 0) {
    const off = (value - expected.mean) / expected.sd;
    facts.push(["it came out", `${number(Math.abs(off), 2)} deviations ${off < 0 ? "lower" : "higher"}`]);
  }
  return facts;
}

function described({ kind, weights, center }) {
  if (kind === "bowl") return `a bowl: values rise towards ${Object.entries(center).map(([name, value]) => `${name} = ${typeof value === "number" ? number(value) : value}`).join(", ")}`;
  const heaviest = Object.entries(weights).filter(([, weight]) => Math.abs(weight) >= LEAST_WEIGHT).sort(([, a], [, b]) => Math.abs(b) - Math.abs(a)).slice(0, MOST_WEIGHTS);
  return `a ridge: values vary most with ${heaviest.map(([name, weight]) => `${number(weight, 2)} ${name}`).join(", ")}`;
}

function secondsCard(spent) {
  const total = Object.values(spent).reduce((a, b) => a + b, 0);
  const rows = Object.entries(spent).map(([phase, s]) => ({ name: PHASES[phase] ?? phase, share: total ? s / total : 0, figure: seconds(s) }));
  return card(`Time: ${seconds(total)}`, bars(rows, "Seconds by phase"));
}

function acquisitionCard(search) {
  const gain = search.acquisition_polished - search.acquisition_admm;
  return card("Acquisition", dl([
    ["by ADMM", number(search.acquisition_admm, 6)],
    ["after polish", number(search.acquisition_polished, 6)],
    ["gained by polish", gain > 1e-9 * Math.abs(search.acquisition_admm) ? number(gain) : "nothing"],
    ["exploration β", [search.beta].flat().map((weight) => number(weight)).join(", ")], // one for all, or one for each component
    ...(search.elsewhere ? [["searched outside", `the ${search.elsewhere > 1 ? `${search.elsewhere} best optima` : "best optimum"}, which no longer grows`]] : []),
    ...(search.released ? [["instead, the best point with", `${search.released} off the bound that all good points share`]] : []),
  ]));
}

function residualsCard(search, signal) {
  const lines = [{ values: search.primal_residuals, colour: "first" }, { values: search.dual_residuals, colour: "second" }];
  if (!lines.some(({ values }) => values.some((v) => v > 0))) {
    return card("ADMM residuals", h("p", { class: "muted" },
      search.iterations ? "No two factors disagreed about a variable: each was maximised by itself." : "No iteration was made."));
  }
  return card("ADMM residuals",
    h("div", { class: "toolbar inline" },
      h("p", { class: "muted" }, `${count(search.iterations, "iteration")}; stopped because ${STOPS[search.stopped_by] ?? search.stopped_by}.`),
      h("ul", { class: "legend", "aria-label": "Legend" }, [["first", "primal: how far factors disagree"], ["second", "dual: how far the consensus moved"]]
        .map(([colour, label]) => h("li", {}, h("span", { class: `symbol step ${colour}`, "aria-hidden": "true" }), label)))),
    linesChart(lines, `Primal and dual residuals over ${search.iterations} iterations`, "iteration", signal).element);
}
