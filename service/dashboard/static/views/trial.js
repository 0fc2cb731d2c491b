// One trial: its point, what came of it, and how the ask that made it went.

import { get, studyPath } from "../api.js";
import { h, replace } from "../dom.js";
import { parameterValue, time } from "../format.js";
import { link } from "../router.js";
import { askCards } from "./ask.js";
import { attempt, card, dl, failure, pill, value } from "./parts.js";
import { tellTrial } from "./tell.js";

export async function trialTab({ panel, model, route, signal }) {
  const number = route.trial;
  const facts = h("div");
  const tell = h("div");
  const asked = h("div");
  let state = null;
  const draw = async () => {
    const trial = await model.trial(number);
    if (signal.aborted || trial.state === state) return;
    state = trial.state;
    replace(facts, head(model, trial), pointCard(model, trial));
    replace(tell, state === "running" ? tellTrial(model, trial) : null);
  };
  if (number >= model.total) {
    replace(panel, failure(new Error(`The study has no trial ${number}.`)));
    return;
  }
  await draw();
  replace(panel, facts, tell, asked);
  const message = h("p", { class: "error", role: "alert" });
  panel.append(message);
  model.addEventListener("change", () => attempt(message, draw), { signal });
  const trial = await model.trial(number);
  if (trial.origin === "told") replace(asked, card("How it was made", h("p", {}, "Told by a client: nobody asked for this point.")));
  else {
    const ask = await get(studyPath(model.id, "trials", number, "diagnostics"), { signal });
    replace(asked, askCards(trial, ask, model, signal));
  }
}

function head(model, trial) {
  const beside = (to, label) => (to >= 0 && to < model.total ? h("a", { class: "button", href: link(model.id, "trials", to) }, label) : null);
  const best = model.study.best?.number === trial.number;
  return h("div", { class: "heading" }, h("h2", {}, `Trial ${trial.number} `, pill(trial.state), best ? h("span", { class: "pill best" }, "best") : null),
    h("span", { class: "actions" }, beside(trial.number - 1, "Previous"), beside(trial.number + 1, "Next")));
}

function pointCard(model, trial) {
  const told = Object.entries(trial.factor_values ?? {}).map(([name, v]) => [name, value(v)]);
  const facts = [
    ["value", value(trial.value)],
    trial.sem === null ? null : ["standard error", value(trial.sem)],
    trial.reason ? ["reason", trial.reason] : null,
    ["origin", trial.origin],
    trial.client_id ? ["client", trial.client_id] : null,
    ["asked", time(trial.asked_at)],
    ["told", time(trial.told_at)],
    trial.lease_expires_at ? ["lease ends", time(trial.lease_expires_at)] : null,
  ].filter(Boolean);
  const point = model.study.parameters.map(({ name }) => [name, h("span", { title: String(trial.parameters[name]) }, parameterValue(trial.parameters[name]))]);
  return h("div", { class: "columns" },
    card("Outcome", dl(facts), told.length ? [h("h3", {}, "Factor values"), dl(told, { class: "facts dense" })] : null),
    card("Point", dl(point, { class: "facts dense" })));
}
