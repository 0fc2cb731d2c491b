// Forms that tell a result: of a trial that runs, or of a point that nobody asked for.

import { post, studyPath } from "../api.js";
import { h, replace, uniqueId } from "../dom.js";
import { go, link } from "../router.js";
import { typed } from "../space.js";
import { showProblem } from "./errors.js";
import { button, card, field, input, select } from "./parts.js";

export function tellTrial(model, trial) {
  const result = resultFields(model.study);
  const reason = input({ placeholder: "diverged" });
  const form = tellForm(model, () => ({ trial: trial.number, ...result.read() }), () => {}, [result.element], "Tell the result");
  const failed = tellForm(model, () => ({ trial: trial.number, state: "failed", ...given({ reason: reason.value.trim() || null }) }), () => {},
    [field("Reason", reason, { loc: "reason", hint: "Optional" })], "Mark as failed");
  return card("What came of it?", h("div", { class: "columns" }, form, failed));
}

export function tellPoint(model) {
  const details = h("details", { class: "card" }, h("summary", {}, "Tell a point that was never asked for"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(pointForm(model));
  });
  return details;
}

function pointForm(model) {
  const result = resultFields(model.study);
  const controls = model.study.parameters.map((p) => [p, control(p)]);
  const read = () => ({
    parameters: Object.fromEntries(controls.map(([p, c]) => [p.name, p.values ? p.values[c.selectedIndex] : typed(c.value)])),
    ...result.read(),
  });
  const fields = h("div", { class: "fields" }, controls.map(([p, c]) => field(p.name, c, { loc: `parameters.${p.name}`, hint: p.bounds?.join(" to ") })));
  return tellForm(model, read, (trial) => go(link(model.id, "trials", trial.number)), [fields, result.element], "Tell");
}

function control(parameter) {
  if (parameter.values) return select(parameter.values.map((v, i) => [String(i), String(v)]), "0");
  return input({ inputmode: "decimal" });
}

function tellForm(model, read, then, content, label) {
  const summary = h("div", { class: "summary", role: "alert", tabindex: "-1" });
  const submit = h("button", { type: "submit", class: "primary" }, label);
  const form = h("form", { novalidate: true }, summary, content, submit);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      const { trials } = await post(studyPath(model.id, "tell"), read());
      await model.refresh();
      then(trials[0]);
    } catch (error) {
      if (error.status !== 401) showProblem(form, summary, error);
    } finally {
      submit.disabled = false;
    }
  });
  return form;
}

// The value and its error; or, where the factors are known, each factor's value, if the visitor prefers.
function resultFields(study) {
  const whole = input({ inputmode: "decimal" });
  const sem = input({ inputmode: "decimal" });
  const simple = h("div", { class: "fields" }, field("Value", whole, { loc: "value" }), field("Standard error", sem, { loc: "sem", hint: "Optional" }));
  const readWhole = () => ({ value: typed(whole.value), ...given({ sem: typed(sem.value) }) });
  const names = study.decomposition.factors?.map((factor) => factor.name) ?? [];
  if (names.length === 0) return { element: simple, read: readWhole };
  const parts = names.map((name) => [name, input({ inputmode: "decimal" })]);
  const each = h("div", { class: "fields", hidden: true }, parts.map(([name, c]) => field(name, c, { loc: `factor_values.${name}` })));
  const id = uniqueId("each");
  const choice = h("input", { type: "checkbox", id });
  choice.addEventListener("change", () => { each.hidden = !choice.checked; simple.hidden = choice.checked; });
  const read = () => (choice.checked ? { factor_values: Object.fromEntries(parts.map(([name, c]) => [name, typed(c.value)])) } : readWhole());
  return { element: h("div", {}, h("p", {}, choice, h("label", { for: id }, " I know the value of each factor")), simple, each), read };
}

const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
