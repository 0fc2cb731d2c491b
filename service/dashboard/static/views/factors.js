// What the model makes of each factor: its share of the variance, and its mean along one variable or two.

import { get, post, studyPath } from "../api.js";
import { bandChart } from "../charts/band.js";
import { bars } from "../charts/bars.js";
import { contourChart } from "../charts/contour.js";
import { h, replace } from "../dom.js";
import { percent } from "../format.js";
import { factorNames, shares } from "../factors.js";
import { grid, spread } from "../space.js";
import { busy, button, card, field, select } from "./parts.js";
import { emptyHint } from "./study.js";

const SPREAD = 200;
const ALONG = 60;
const ACROSS = 22;
const OBSERVED = 300;

export async function factorsTab({ panel, model, signal }) {
  if (!model.study.best) {
    model.addEventListener("change", () => model.study.best && factorsTab({ panel, model, signal }), { signal, once: true });
    replace(panel, emptyHint(model));
    return;
  }
  const { study } = model;
  const predict = async (points) => (await post(studyPath(model.id, "predict"), { points }, { signal })).predictions;
  const state = { study, revision: study.revision, factors: [], names: [], predict, model, signal };
  const stale = h("p", { class: "notice", hidden: true }, "New results have come in. ", button("Compute anew", () => factorsTab({ panel, model, signal })));
  const message = h("p", { class: "muted", role: "status" }, "The model is computing …");
  replace(panel, stale, message);
  model.addEventListener("change", () => { stale.hidden = model.study.revision === state.revision; }, { signal });
  const [structure, everywhere] = await Promise.all([
    get(studyPath(model.id, "decomposition"), { signal }),
    predict(spread(study.parameters, SPREAD)),
  ]);
  if (signal.aborted) return;
  state.names = Object.keys(everywhere[0].factors);
  state.factors = structure.map.length === state.names.length ? structure.map : [study.parameters.map((p) => p.name)];
  if (state.factors.length !== state.names.length) {
    replace(message, "The structure has just changed; look again after the next ask.");
    return;
  }
  const parts = shares(everywhere, state.names);
  replace(panel, stale, variance(state, parts), explorer(state, parts.indexOf(Math.max(...parts))));
}

function variance({ names, factors }, parts) {
  const rows = parts.map((share, i) => ({ name: `${names[i]}: ${factors[i].join(", ")}`, share, figure: percent(share), colour: `factor-${i % 8}` }));
  rows.sort((a, b) => b.share - a.share);
  return card("Share of the variance", h("p", { class: "muted" }, "How much each factor's mean varies over the whole space, as a part of all of them."), bars(rows, "Share of the variance by factor"));
}

function explorer(state, start) {
  const factor = select(state.names.map((name, i) => [String(i), name]), String(start));
  const first = select([], "");
  const second = select([], "");
  const chart = h("div", { class: "chart-place" });
  const message = h("p", { class: "error", role: "alert" });
  const caption = h("p", { class: "muted" });
  let latest = 0;

  const offer = () => {
    const members = state.factors[Number(factor.value)];
    replace(first, members.map((name) => h("option", { value: name }, name)));
    replace(second, h("option", { value: "" }, "none: a curve"), members.map((name) => h("option", { value: name }, name)));
    second.value = members.length > 1 ? members[1] : "";
  };
  const draw = async () => {
    latest += 1;
    const mine = latest;
    const chosen = { index: Number(factor.value), name: state.names[Number(factor.value)], first: first.value, second: second.value === first.value ? "" : second.value };
    chart.setAttribute("aria-busy", "true");
    const made = await busy(factor, message, () => (chosen.second ? contour(state, chosen) : curve(state, chosen)));
    if (made === undefined || mine !== latest || state.signal.aborted) return;
    chart.removeAttribute("aria-busy");
    replace(chart, made.element);
    replace(caption, made.caption);
  };
  factor.addEventListener("change", () => { offer(); draw(); });
  first.addEventListener("change", draw);
  second.addEventListener("change", draw);
  offer();
  draw();
  return card("The factor up close",
    h("div", { class: "toolbar" }, field("Factor", factor), field("Along", first), field("and along", second)), message, chart, caption);
}

const parameterOf = ({ study }, name) => study.parameters.find((p) => p.name === name);

async function curve(state, { name, first }) {
  const parameter = parameterOf(state, first);
  const xs = grid(parameter, ALONG);
  const trials = await completed(state);
  const points = [...xs.map((x) => ({ ...state.study.best.parameters, [first]: x })), ...trials.map((t) => t.parameters)];
  const predictions = await state.predict(points);
  const along = predictions.slice(0, xs.length);
  const there = predictions.slice(xs.length);
  const data = {
    parameter, xs, yLabel: unit(predictions, name),
    means: along.map((p) => p.factors[name].mean),
    sds: along.map((p) => p.factors[name].sd),
    best: state.study.best.parameters[first],
    observations: trials.map((t, i) => [t.parameters[first], said(t, there[i], name)]),
  };
  const { element } = bandChart(() => data, `Posterior mean of ${name} along ${first}, with its 95 % band`, state.signal);
  const dots = "Dots are what each result says of this factor: as told, or what is left of the value without the other factors.";
  return { element, caption: `Mean and 95 % band, other variables at the best point (dashed line). ${dots}${scaleNote(predictions)}` };
}

// What a trial says of a factor; null while the model's units are not the value's, so that only its place is known.
function said(trial, prediction, name) {
  if (trial.factor_values) return trial.factor_values[name];
  if (prediction.scale !== "objective") return null;
  return trial.value - (prediction.mean - prediction.factors[name].mean);
}

async function contour(state, { name, first, second }) {
  const [px, py] = [parameterOf(state, first), parameterOf(state, second)];
  const [xs, ys] = [grid(px, ACROSS), grid(py, ACROSS)];
  const best = state.study.best.parameters;
  const predictions = await state.predict(ys.flatMap((y) => xs.map((x) => ({ ...best, [first]: x, [second]: y }))));
  const rows = (pick) => ys.map((_, j) => xs.map((_, i) => pick(predictions[j * xs.length + i].factors[name])));
  const trials = await completed(state);
  const data = {
    px, py, xs, ys, means: rows((f) => f.mean), sds: rows((f) => f.sd), best: [best[first], best[second]],
    observations: trials.map((t) => [t.parameters[first], t.parameters[second]]),
  };
  const { element } = contourChart(() => data, `Posterior mean of ${name} over ${first} and ${second}`, state.signal);
  return { element, caption: `Posterior mean, other variables at the best point (ring). Dots are observations.${scaleNote(predictions)}` };
}

// The latest completed trials, as many as a chart can hold and a prediction is quick for.
async function completed(state) {
  await state.model.loadAll(() => {});
  return [...state.model.trials.values()].filter((t) => t.state === "completed").slice(-OBSERVED);
}

const unit = (predictions, name) => (predictions[0].scale === "objective" ? name : `${name} (model units)`);

const scaleNote = (predictions) => (predictions[0].scale === "objective" ? "" : " In the model's own units: it bends the objective's scale.");
