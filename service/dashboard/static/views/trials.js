// All trials: a table to sort and filter, parallel coordinates of what is left, and the whole as CSV.

import { download, studyPath } from "../api.js";
import { parallelChart } from "../charts/parallel.js";
import { h, replace } from "../dom.js";
import { count } from "../format.js";
import { filter } from "../filter.js";
import { tellPoint } from "./tell.js";
import { busy, button, card, field, input, select } from "./parts.js";
import { trialTable } from "./trial-table.js";

const AXES = 14;
const STATES = ["completed", "running", "failed", "abandoned"];

export async function trialsTab({ panel, model, signal }) {
  const state = select([["", "any"], ...STATES.map((name) => [name, name])], "");
  const text = input({ type: "search", placeholder: "x1 > 0.5, origin = dumbo" });
  const status = h("p", { class: "muted", role: "status" });
  const message = h("span", { class: "error", role: "alert" });
  const save = button("Download CSV", () => busy(save, message, () => saveCsv(model)));
  const firstAxis = select([], "");
  const all = () => [...model.trials.values()];
  let kept = [];
  const table = trialTable(model, () => kept);
  const axes = () => model.study.parameters.slice(Number(firstAxis.value) || 0).slice(0, AXES);
  const chart = parallelChart(() => ({ parameters: axes(), trials: kept.filter((t) => t.state === "completed"), minimizes: model.minimizes }), signal);

  const starts = Array.from({ length: Math.ceil(model.study.parameters.length / AXES) }, (_, k) => k * AXES);
  replace(firstAxis, starts.map((from) => h("option", { value: from }, `${from + 1} to ${Math.min(from + AXES, model.study.parameters.length)}`)));
  firstAxis.addEventListener("change", chart.redraw);

  const draw = () => {
    const { keep, problem } = filter(text.value, model.study);
    kept = all().filter((trial) => (state.value === "" || trial.state === state.value) && keep(trial));
    replace(status, problem ?? `${count(kept.length, "trial")}${kept.length < model.total ? ` of ${model.total.toLocaleString("en")}` : ""}`);
    table.draw();
    chart.redraw();
  };
  state.addEventListener("change", draw);
  text.addEventListener("input", draw);
  replace(panel,
    card("Trials",
      h("div", { class: "toolbar" }, field("State", state), field("Filter", text, { wide: true }), status, h("span", { class: "actions" }, message, save)),
      table.element),
    card("Parallel coordinates",
      h("div", { class: "toolbar" }, h("p", { class: "muted" }, "Coloured by rank of the value, the best on top. The filter above applies."),
        starts.length > 1 ? field("Parameters", firstAxis) : null),
      chart.element),
    tellPoint(model));
  await model.loadAll(draw);
  if (signal.aborted) return;
  model.addEventListener("change", draw, { signal });
  draw();
}

async function saveCsv(model) {
  const url = URL.createObjectURL(await download(studyPath(model.id, "trials.csv")));
  const name = model.study.name.replace(/[^\p{L}\p{N}._-]+/gu, "-") || model.id;
  const anchor = h("a", { href: url, download: `${name}.csv` });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
