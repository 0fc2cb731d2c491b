// The API's field errors, each shown at the field its `loc` names, or at the nearest field around it.

import { h, replace } from "../dom.js";

export function clearErrors(form) {
  for (const marked of form.querySelectorAll("[aria-invalid]")) marked.removeAttribute("aria-invalid");
  for (const error of form.querySelectorAll(".error")) replace(error);
}

// Shows the problem and moves to the first faulty field. `summary` takes what belongs to no field.
export function showProblem(form, summary, problem) {
  clearErrors(form);
  const homeless = [];
  const controls = [];
  for (const { loc, msg } of (problem.errors ?? []).filter(wanted)) {
    const place = find(form, loc.filter((part, i) => i > 0 || part !== "body"));
    if (!place) homeless.push(`${loc.slice(1).join(" › ") || "request"}: ${msg}`);
    else controls.push(mark(place, msg));
  }
  const general = problem.errors?.length ? homeless : [problem.message];
  replace(summary, general.map((text) => h("p", {}, text)));
  (controls.find(Boolean) ?? summary).focus();
}

// A number may be an int or a float, and the API says of both why it is not; one of them will do.
const wanted = ({ loc }) => loc.at(-1) !== "int";

function find(form, loc) {
  for (let length = loc.length; length > 0; length -= 1) {
    const name = CSS.escape(loc.slice(0, length).join("."));
    const place = form.querySelector(`[data-loc="${name}"]`) ?? form.querySelector(`[data-loc^="${name}."]`);
    if (place) return place;
  }
  return null;
}

function mark(place, message) {
  const error = place.querySelector(":scope > .error");
  error.append(error.textContent ? `; ${message}` : message);
  const control = place.querySelector("input, select");
  if (place.matches(".field")) control.setAttribute("aria-invalid", "true");
  return control;
}
