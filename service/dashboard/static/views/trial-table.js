// The table of trials: sorted by any column, a page of rows at a time.

import { h, replace } from "../dom.js";
import { parameterValue } from "../format.js";
import { link } from "../router.js";
import { button, pill, value } from "./parts.js";

const CELLS = 1500; // on one page: more take too long to lay out
const ROWS = 25;
const COLUMNS = 12; // parameters shown until all are asked for

export function trialTable(model, trials) {
  let sorting = { name: "number", down: true };
  let page = 0;
  let everything = model.study.parameters.length <= COLUMNS;
  const head = h("thead");
  const body = h("tbody");
  const pager = h("div", { class: "pager" });
  const more = h("input", { type: "checkbox", id: "all-parameters" });
  more.addEventListener("change", () => { everything = more.checked; draw(); });
  const element = h("div", {},
    everything ? null : h("p", {}, more, h("label", { for: "all-parameters" }, ` All ${model.study.parameters.length} parameters`)),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of trials" }, h("table", { class: "trials" }, head, body)), pager);

  const columns = () => {
    const parameters = everything ? model.study.parameters : model.study.parameters.slice(0, COLUMNS);
    return [
      { name: "number", label: "trial", of: (t) => t.number, cell: (t) => h("a", { href: link(model.id, "trials", t.number) }, t.number) },
      { name: "state", label: "state", of: (t) => t.state, cell: (t) => pill(t.state) },
      { name: "value", label: "value", of: (t) => t.value, cell: (t) => value(t.value) },
      { name: "origin", label: "origin", of: (t) => t.origin, cell: (t) => t.origin },
      ...parameters.map(({ name }) => ({ name: `parameters.${name}`, label: name, of: (t) => t.parameters[name], cell: (t) => parameterValue(t.parameters[name]) })),
    ];
  };

  function draw() {
    const shown = columns();
    const by = shown.find((column) => column.name === sorting.name) ?? shown[0];
    const rows = [...trials()].sort((a, b) => compare(by.of(a), by.of(b), sorting.down));
    const height = Math.max(5, Math.min(ROWS, Math.floor(CELLS / shown.length)));
    const pages = Math.max(1, Math.ceil(rows.length / height));
    page = Math.min(page, pages - 1);
    const best = model.study.best?.number;
    replace(head, h("tr", {}, shown.map(heading)));
    replace(body, rows.slice(page * height, (page + 1) * height).map((trial) =>
      h("tr", { class: trial.number === best ? "best" : null }, shown.map(({ cell }) => h("td", {}, cell(trial))))));
    replace(pager, pages === 1 ? null : [
      turn("First", 0, page > 0), turn("Back", page - 1, page > 0),
      h("span", { class: "muted" }, `page ${page + 1} of ${pages}`),
      turn("Next", page + 1, page < pages - 1), turn("Last", pages - 1, page < pages - 1),
    ]);
  }

  function heading({ name, label }) {
    const sorted = name === sorting.name;
    const arrow = sorted ? (sorting.down ? " ↓" : " ↑") : "";
    const sort = () => {
      sorting = { name, down: sorted ? !sorting.down : false };
      page = 0;
      draw();
      head.querySelector(`[data-column="${CSS.escape(name)}"]`)?.focus();
    };
    return h("th", { scope: "col", "aria-sort": sorted ? (sorting.down ? "descending" : "ascending") : null },
      button(label + arrow, sort, { class: "sort", "data-column": name }));
  }

  const turn = (label, to, possible) => button(label, () => { page = to; draw(); }, { disabled: !possible });

  return { element, draw };
}

// Trials without the value that is sorted by come last, whichever way.
function compare(a, b, down) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  return down ? -order : order;
}
