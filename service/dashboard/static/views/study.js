// A study's page: its head and its tabs. The model behind them lives as long as the visitor stays with the study.

import { post, studyPath } from "../api.js";
import { h, replace } from "../dom.js";
import { count } from "../format.js";
import { go, link } from "../router.js";
import { StudyModel } from "../study-model.js";
import { aboutTab } from "./about.js";
import { factorsTab } from "./factors.js";
import { busy, button, failure, pill, value } from "./parts.js";
import { progressTab } from "./progress.js";
import { structureTab } from "./structure.js";
import { trialTab } from "./trial.js";
import { trialsTab } from "./trials.js";

const TABS = [["progress", "Progress"], ["structure", "Structure"], ["factors", "Factors"], ["trials", "Trials"], ["about", "About"]];
const VIEWS = { progress: progressTab, structure: structureTab, factors: factorsTab, trials: trialsTab, trial: trialTab, about: aboutTab };

export class StudyPage {
  constructor(id) {
    this.id = id;
    this.controller = new AbortController();
    this.model = new StudyModel(id, this.controller.signal);
    this.head = h("div", { class: "study-head" });
    this.tabs = h("nav", { class: "tabs", "aria-label": "Views of the study" });
    this.panel = h("div", { class: "panel" });
    this.started = null;
  }

  close() {
    this.controller.abort();
  }

  async show(main, route, signal) {
    this.started ??= this.model.start((error) => replace(main, failure(error)));
    await this.started;
    if (signal.aborted) return;
    if (!main.contains(this.panel)) {
      this.build();
      replace(main, this.head, this.tabs, this.panel);
    }
    document.title = `${this.model.study.name} – DuMBO`;
    this.markTab(route.view);
    const view = h("div");
    replace(this.panel, view);
    try {
      await VIEWS[route.view]({ panel: view, model: this.model, route, signal });
    } catch (error) { // the head and the other tabs still stand
      if (!signal.aborted && error.status !== 401) replace(view, failure(error));
    }
  }

  build() {
    replace(this.tabs, TABS.map(([name, label]) => h("a", { href: link(this.id, name), "data-tab": name }, label)));
    const figures = h("div", { class: "figures" });
    const message = h("span", { class: "error", role: "alert" });
    const ask = button("Ask for a trial", () => busy(ask, message, () => this.ask()), { class: "primary" });
    replace(this.head, h("div", { class: "heading" }, h("h1", {}, this.model.study.name), h("span", { class: "actions" }, message, ask)), figures);
    const draw = () => {
      replace(figures, figuresOf(this.model));
      ask.disabled = this.model.study.state === "stopped";
      ask.title = ask.disabled ? "The study is stopped" : "";
    };
    this.model.addEventListener("change", draw);
    draw();
  }

  async ask() {
    const { trials } = await post(studyPath(this.id, "ask"), {});
    await this.model.refresh();
    go(link(this.id, "trials", trials[0].number));
  }

  markTab(view) {
    const current = view === "trial" ? "trials" : view;
    for (const tab of this.tabs.children) {
      if (tab.dataset.tab === current) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
  }
}

function figuresOf({ study, id, total }) {
  const { running, failed, abandoned } = study.trial_counts;
  const figure = (name, ...content) => h("div", { class: "figure" }, h("span", { class: "muted" }, name), h("span", {}, content));
  const others = [[running, "running"], [failed, "failed"], [abandoned, "abandoned"]].filter(([n]) => n > 0);
  return [
    figure("best", study.best ? h("a", { href: link(id, "trials", study.best.number), class: "big" }, value(study.best.value)) : h("span", { class: "big" }, "–")),
    figure("trials", h("span", { class: "big" }, total.toLocaleString("en")), others.map(([n, state]) => h("span", { class: `mark ${state}` }, ` ${n} ${state}`))),
    figure("parameters", h("span", { class: "big" }, study.parameters.length)),
    figure("direction", study.direction),
    figure("state", pill(study.state)),
  ];
}

export const emptyHint = (model) => h("p", { class: "notice" },
  `${count(model.study.parameters.length, "parameter")}, no result yet. Ask for a trial, evaluate it, and tell what came out.`);
