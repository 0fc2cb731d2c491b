// The curve: every observation, the best so far, and who is being waited for.

import { hasOutliers, progressChart } from "../charts/progress.js";
import { h, replace } from "../dom.js";
import { parameterValue, time } from "../format.js";
import { go, link } from "../router.js";
import { card, dl, field, select } from "./parts.js";
import { emptyHint } from "./study.js";

const RUNNING_SHOWN = 20;

export function progressTab({ panel, model, signal }) {
  const outliers = hasOutliers(model.series.values, model.minimizes);
  const zoom = select([["all", "All values"], ["better", "The better 60 %"]], outliers ? "better" : "all");
  const chart = progressChart(model, { open: (number) => go(link(model.id, "trials", number)), signal, zoomed: () => zoom.value === "better" });
  zoom.addEventListener("change", chart.redraw);
  const legend = h("ul", { class: "legend", "aria-label": "Legend" }, [
    ["dot accent", "proposed by the model"], ["dot other", "initial, told or random"], ["step", "best so far"],
    ["ring", "running"], ["cross", "failed or abandoned"],
  ].map(([symbol, label]) => h("li", {}, h("span", { class: `symbol ${symbol}`, "aria-hidden": "true" }), label)));
  const hint = h("div");
  const best = h("div");
  const running = h("div");
  replace(panel, hint,
    card("Values by trial", h("div", { class: "toolbar inline" }, legend, field("Vertical axis", zoom)), chart.element),
    h("div", { class: "columns" }, best, running));

  const draw = async () => {
    chart.redraw();
    replace(hint, model.total === 0 ? emptyHint(model) : null);
    replace(best, model.study.best ? bestCard(model) : null);
    const trials = await runningTrials(model);
    if (!signal.aborted) replace(running, trials.length ? runningCard(model, trials) : null);
  };
  model.addEventListener("change", draw, { signal });
  draw();
}

function bestCard({ id, study: { best, parameters } }) {
  return card("The best point",
    h("p", { class: "muted" }, h("a", { href: link(id, "trials", best.number) }, `Trial ${best.number}`), ", told ", time(best.told_at)),
    dl(parameters.map(({ name }) => [name, h("span", { title: String(best.parameters[name]) }, parameterValue(best.parameters[name]))]), { class: "facts dense" }));
}

function runningTrials(model) {
  const numbers = model.series.numbers.filter((n) => model.series.states[n] === "running").slice(0, RUNNING_SHOWN);
  return Promise.all(numbers.map((n) => model.trial(n))).catch(() => []);
}

function runningCard(model, trials) {
  return card("Running", h("ul", { class: "plain" }, trials.map((trial) => h("li", {},
    h("a", { href: link(model.id, "trials", trial.number) }, `Trial ${trial.number}`),
    h("span", { class: "muted" }, " asked ", time(trial.asked_at), trial.client_id ? ` by ${trial.client_id}` : "")))));
}
