// Pieces that several views share.

import { h, replace, uniqueId } from "../dom.js";
import { number } from "../format.js";

export function failure(error) {
  return h("div", { class: "notice bad", role: "alert" },
    h("p", {}, h("strong", {}, error.title || "That did not work. "), error.title ? ". " : "", error.message),
    h("p", {}, h("a", { href: "#/" }, "All studies")));
}

export const pill = (state) => h("span", { class: `pill ${state}` }, state);

export function value(given, digits = 6) {
  return h("span", { class: "number", title: given === null || given === undefined ? null : String(given) }, number(given, digits));
}

// A labelled control with room for an error that names it.
export function field(label, control, { loc, hint, wide } = {}) {
  const id = control.id || uniqueId("field");
  const error = `${id}-error`;
  control.id = id;
  control.setAttribute("aria-describedby", error);
  return h("div", { class: wide ? "field wide" : "field", "data-loc": loc },
    h("label", { for: id }, label),
    control,
    hint ? h("span", { class: "hint" }, hint) : null,
    h("span", { class: "error", id: error }));
}

export function select(options, chosen, props = {}) {
  return h("select", props, options.map(([name, label]) => h("option", { value: name, selected: name === chosen }, label)));
}

export const input = (props = {}) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...props });

export function card(title, ...children) {
  const id = uniqueId("card");
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, title), children);
}

export function button(label, action, props = {}) {
  return h("button", { type: "button", ...props, on: { click: action } }, label);
}

export function dl(pairs, props = {}) {
  return h("dl", { class: "facts", ...props }, pairs.map(([name, content]) => h("div", {}, h("dt", {}, name), h("dd", {}, content))));
}

// Does the work, and says in `message` what went wrong. A lost key has a view of its own.
export async function attempt(message, work) {
  try {
    const done = await work();
    replace(message);
    return done;
  } catch (error) {
    if (error.name !== "AbortError" && error.status !== 401) replace(message, error.message);
    return undefined;
  }
}

// What a button stands for, once at a time.
export async function busy(control, message, work) {
  control.disabled = true;
  const done = await attempt(message, work);
  control.disabled = false;
  return done;
}
