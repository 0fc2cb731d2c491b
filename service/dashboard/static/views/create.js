// A new study, parameter by parameter. Nothing is judged here: what the API says of a field is shown at the field.

import { post } from "../api.js";
import { h, replace } from "../dom.js";
import { go, link } from "../router.js";
import { typed, typedList } from "../space.js";
import { showProblem } from "./errors.js";
import { button, field, input, select } from "./parts.js";

const TYPES = [["float", "float"], ["int", "int"], ["ordinal", "ordinal"], ["categorical", "categorical"]];
const SCALES = [["linear", "linear"], ["log", "log"]];
const MODES = [
  ["infer", "Infer it from the results"],
  ["known", "Known: I can name the terms"],
  ["random", "Random, drawn anew at each ask"],
  ["none", "None: one term of everything"],
];

export function createView(main) {
  document.title = "New study – DuMBO";
  const parameters = h("div", { class: "rows" });
  const factors = h("div", { class: "rows" });
  const summary = h("div", { class: "summary", role: "alert", tabindex: "-1" });
  const name = input({ name: "name" });
  const direction = select([["minimize", "minimize"], ["maximize", "maximize"]], "minimize");
  const mode = select(MODES, "infer");
  const seed = input({ inputmode: "numeric" });
  const initial = input({ inputmode: "numeric" });
  const submit = h("button", { type: "submit", class: "primary" }, "Create study");
  const known = h("fieldset", { hidden: true, "data-loc": "decomposition.factors" },
    h("legend", {}, "Terms"), h("p", { class: "hint" }, "They may overlap, and together cover every parameter."),
    factors, h("span", { class: "error" }), button("Add a term", () => addFactor()));

  const addParameter = () => {
    parameters.append(parameterRow(parameters, () => number(parameters, factors)));
    number(parameters, factors);
  };
  const addFactor = () => {
    factors.append(factorRow(factors, () => number(parameters, factors)));
    number(parameters, factors);
  };
  mode.addEventListener("change", () => {
    known.hidden = mode.value !== "known";
    if (!known.hidden && factors.childElementCount === 0) addFactor();
  });
  parameters.addEventListener("input", () => offerNames(parameters, factors));

  const form = h("form", { class: "card create", novalidate: true },
    summary,
    h("div", { class: "fields" },
      field("Name", name, { loc: "name" }),
      field("Direction", direction, { loc: "direction" })),
    h("fieldset", { "data-loc": "parameters" }, h("legend", {}, "Parameters"), parameters, h("span", { class: "error" }),
      button("Add a parameter", () => { addParameter(); parameters.lastElementChild.querySelector("input").focus(); })),
    h("div", { class: "fields" }, field("Structure", mode, { loc: "decomposition.mode", wide: true })),
    known,
    h("details", {}, h("summary", {}, "Algorithm"),
      h("div", { class: "fields" },
        field("Seed", seed, { loc: "algorithm.seed", hint: "Empty: drawn at random" }),
        field("Initial trials", initial, { loc: "algorithm.initial_trials", hint: "Empty: chosen for you" }))),
    h("p", { class: "actions" }, submit, h("a", { class: "button", href: "#/" }, "Cancel")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      const algorithm = given({ seed: typed(seed.value), initial_trials: typed(initial.value) });
      const study = await post("v1/studies", {
        name: name.value,
        direction: direction.value,
        parameters: [...parameters.children].map(readParameter),
        decomposition: given({ mode: mode.value, factors: mode.value === "known" ? [...factors.children].map(readFactor) : null }),
        algorithm,
      });
      go(link(study.id));
    } catch (error) {
      if (error.status !== 401) showProblem(form, summary, error);
    } finally {
      submit.disabled = false;
    }
  });
  addParameter();
  replace(main, h("h1", {}, "New study"), form);
  name.focus();
}

function parameterRow(list, renumber) {
  const part = (label, control, key) => Object.assign(field(label, control), { key });
  const type = select(TYPES, "float", { name: "type" });
  const range = [part("Low", input({ name: "low", inputmode: "decimal" }), "bounds.0"), part("High", input({ name: "high", inputmode: "decimal" }), "bounds.1"), part("Scale", select(SCALES, "linear", { name: "scale" }), "scale")];
  const values = part("Values", input({ name: "values", placeholder: "adam, sgd" }), "values");
  values.hidden = true;
  const row = h("div", { class: "row", role: "group" });
  type.addEventListener("change", () => {
    const listed = type.value === "ordinal" || type.value === "categorical";
    for (const place of range) place.hidden = listed;
    values.hidden = !listed;
  });
  replace(row, part("Name", input({ name: "name" }), "name"), part("Type", type, "type"), range, values,
    button("Remove", () => { row.remove(); renumber(); }, { class: "quiet" }));
  return row;
}

function factorRow(list, renumber) {
  const row = h("div", { class: "row", role: "group" });
  replace(row,
    Object.assign(field("Name", input({ name: "name", value: `term ${list.childElementCount + 1}` })), { key: "name" }),
    Object.assign(field("Parameters", h("select", { name: "parameters", multiple: true, size: "4" }), { hint: "Hold Ctrl to choose several" }), { key: "parameters" }),
    button("Remove", () => { row.remove(); renumber(); }, { class: "quiet" }));
  return row;
}

// Fields are found by the `loc` of the API's errors, which counts rows.
function number(parameters, factors) {
  const label = (list, loc, noun) => {
    for (const [i, row] of [...list.children].entries()) {
      row.setAttribute("aria-label", `${noun} ${i + 1}`);
      for (const place of row.querySelectorAll(".field")) place.dataset.loc = `${loc}.${i}.${place.key}`;
    }
  };
  label(parameters, "parameters", "Parameter");
  label(factors, "decomposition.factors", "Term");
  offerNames(parameters, factors);
}

function offerNames(parameters, factors) {
  const names = [...parameters.querySelectorAll("[name=name]")].map((control) => control.value).filter(Boolean);
  for (const list of factors.querySelectorAll("select")) {
    const chosen = new Set([...list.selectedOptions].map((option) => option.value));
    replace(list, names.map((name) => h("option", { value: name, selected: chosen.has(name) }, name)));
  }
}

function readParameter(row) {
  const of = (name) => row.querySelector(`[name=${name}]`).value;
  const shared = { name: of("name"), type: of("type") };
  if (shared.type === "ordinal" || shared.type === "categorical") return { ...shared, values: typedList(of("values")) };
  return { ...shared, bounds: [typed(of("low")), typed(of("high"))], scale: of("scale") };
}

function readFactor(row) {
  return {
    name: row.querySelector("[name=name]").value,
    parameters: [...row.querySelector("select").selectedOptions].map((option) => option.value),
  };
}

const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
