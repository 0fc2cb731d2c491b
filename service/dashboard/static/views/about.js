// The study as it was specified, and what can be done with it: stop, reactivate, delete.

import { patch, remove, studyPath } from "../api.js";
import { h, replace } from "../dom.js";
import { parameterValue, time } from "../format.js";
import { go } from "../router.js";
import { busy, button, card, dl } from "./parts.js";

export function aboutTab({ panel, model, signal }) {
  const { study } = model;
  const message = h("p", { class: "error", role: "alert" });
  const actions = h("p", { class: "actions" });
  const draw = () => replace(actions, stateButton(model, message), deleteButton(model, message));
  replace(panel,
    card("Specification",
      dl([
        ["id", h("code", {}, study.id)], ["created", time(study.created_at)],
        ["structure", study.decomposition.mode],
        ...Object.entries(study.algorithm).map(([name, value]) => [name, String(value ?? "chosen by the model")]),
        ...Object.entries(study.metadata).map(([name, value]) => [`metadata: ${name}`, typeof value === "string" ? value : JSON.stringify(value)]),
      ])),
    card("Parameters", h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of parameters" }, parameterTable(study))),
    card("Manage", h("p", { class: "muted" }, "A stopped study takes results, and hands out no trials."), actions, message));
  model.addEventListener("change", draw, { signal });
  draw();
}

function parameterTable(study) {
  const head = ["name", "type", "range or values", "scale"].map((name) => h("th", { scope: "col" }, name));
  const rows = study.parameters.map((p) => h("tr", {},
    h("td", {}, p.name), h("td", {}, p.type),
    h("td", {}, p.values ? p.values.map(String).join(", ") : `${parameterValue(p.bounds[0])} to ${parameterValue(p.bounds[1])}`),
    h("td", {}, p.values ? "–" : p.scale)));
  return h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
}

function stateButton(model, message) {
  const next = model.study.state === "active" ? "stopped" : "active";
  const control = button(next === "stopped" ? "Stop the study" : "Reactivate the study", () => busy(control, message, async () => {
    await patch(studyPath(model.id), { state: next });
    await model.refresh();
  }));
  return control;
}

// Two presses, so that a slip deletes nothing.
function deleteButton(model, message) {
  let sure = false;
  const control = button("Delete the study", () => {
    if (!sure) {
      sure = true;
      replace(control, `Really delete it with its ${model.total.toLocaleString("en")} trials?`);
      return;
    }
    busy(control, message, async () => {
      await remove(studyPath(model.id));
      go("#/");
    });
  }, { class: "danger" });
  return control;
}
