// All studies: how each stands, at a glance and searchable.

import { get, pages, studyPath } from "../api.js";
import { sparkline } from "../charts/sparkline.js";
import { h, replace } from "../dom.js";
import { count, time } from "../format.js";
import { poll } from "../poll.js";
import { link } from "../router.js";
import { failure, field, input, pill, value } from "./parts.js";

const PAGE = 100;
const SHOWN = 200;
const EVERY = 4000;

export async function studiesView(main, signal) {
  document.title = "Studies – DuMBO";
  const studies = new Map();
  const rows = new Map();
  const search = input({ type: "search", placeholder: "Name or metadata" });
  const found = h("p", { class: "muted", role: "status" });
  const body = h("div", { class: "study-list" });
  const list = h("div", {}, h("div", { class: "toolbar" }, field("Search studies", search), found), body);
  const empty = h("div");
  const newStudy = h("a", { class: "button primary", href: "#/new" }, "New study");

  const draw = () => {
    const wanted = [...studies.values()].filter(matches(search.value)).sort(newestFirst);
    replace(empty, studies.size === 0 ? emptyState() : null);
    list.hidden = studies.size === 0;
    replace(found, `${count(wanted.length, "study", "studies")}${wanted.length > SHOWN ? `, the newest ${SHOWN} shown` : ""}`);
    replace(body, wanted.slice(0, SHOWN).map((study) => row(rows, study, signal)));
  };
  search.addEventListener("input", draw);
  const take = (page) => {
    for (const study of page) studies.set(study.id, study);
  };

  for await (const page of pages("v1/studies", "studies", { query: { limit: PAGE }, signal })) {
    take(page);
    if (!main.contains(list)) replace(main, h("div", { class: "heading" }, h("h1", {}, "Studies"), newStudy), empty, list);
    draw();
  }
  const seen = { text: "" };
  const look = async () => {
    const page = await get("v1/studies", { query: { limit: PAGE }, signal });
    const text = page.studies.map((s) => `${s.id}.${s.revision}`).join();
    if (text === seen.text) return;
    seen.text = text;
    if (page.next_cursor === null) studies.clear();
    take(page.studies);
    draw();
  };
  poll(look, signal, EVERY).catch((error) => replace(main, failure(error)));
}

const newestFirst = (a, b) => (a.created_at < b.created_at ? 1 : -1);

function matches(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (study) => {
    const all = `${study.name} ${study.id} ${study.state} ${JSON.stringify(study.metadata)}`.toLowerCase();
    return words.every((word) => all.includes(word));
  };
}

// A row is made once per revision, so that typing in the search moves elements rather than building them.
function row(rows, study, signal) {
  const known = rows.get(study.id);
  if (known?.revision === study.revision) return known.element;
  const { trial_counts: trials, best } = study;
  const total = trials.running + trials.completed + trials.failed + trials.abandoned;
  const chart = h("span", { class: "study-chart" });
  const element = h("a", { class: "study", href: link(study.id) },
    h("span", { class: "study-name" }, study.name),
    h("span", { class: "study-state" }, pill(study.state), h("span", { class: "muted" }, study.direction)),
    h("span", {}, h("span", { class: "muted label" }, "trials "), total.toLocaleString("en"), marks(trials)),
    h("span", {}, h("span", { class: "muted label" }, "best "), value(best?.value ?? null)),
    chart,
    h("span", { class: "muted study-time" }, time(study.updated_at)));
  rows.set(study.id, { revision: study.revision, element });
  if (trials.completed > 1) whenSeen(element, () => drawSparkline(chart, study, total, signal), signal);
  return element;
}

function marks({ running, failed }) {
  return [
    running ? h("span", { class: "mark running" }, ` ${running} running`) : null,
    failed ? h("span", { class: "mark failed" }, ` ${failed} failed`) : null,
  ];
}

async function drawSparkline(chart, study, total, signal) {
  const series = await get(studyPath(study.id, "series"), { query: { improvements: true }, signal }).catch(() => null);
  if (series) replace(chart, sparkline(series, total, study.direction === "minimize"));
}

function whenSeen(element, then, signal) {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    then();
  });
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
}

function emptyState() {
  const address = new URL("v1/studies", document.baseURI);
  const spec = `{"name": "first", "direction": "minimize", "parameters": [{"name": "x", "type": "float", "bounds": [-5, 5]}]}`;
  return h("section", { class: "card" },
    h("h2", {}, "No studies yet"),
    h("p", {}, "A study is an objective and the parameters it depends on. Make the first one ", h("a", { href: "#/new" }, "in a form"), ", or from a shell:"),
    h("pre", { tabindex: "0" }, `curl -s ${address} -H 'Content-Type: application/json' \\\n  -d '${spec}'`));
}
