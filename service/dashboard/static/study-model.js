// One study as the page knows it: the study itself, its curve, and its trials as far as somebody wanted them.

import { get, getIfChanged, pages, studyPath } from "./api.js";
import { poll } from "./poll.js";

const PAGE = 1000;
const FEW = 20; // changed trials that are fetched one by one rather than all pages again

export class StudyModel extends EventTarget {
  constructor(id, signal) {
    super();
    this.id = id;
    this.signal = signal;
    this.study = null;
    this.series = { numbers: [], states: [], values: [], origins: [] };
    this.trials = new Map();
    this.etag = null;
    this.wholeHistory = false;
    this.looking = Promise.resolve();
  }

  // Resolves when there is something to show, then goes on watching; later failures go to `onError`.
  async start(onError) {
    await this.refresh();
    poll(() => this.refresh(), this.signal).catch(onError);
  }

  // One look at a time, so that an older answer never replaces a newer one.
  refresh() {
    const before = this.looking;
    this.looking = (async () => {
      await before.catch(() => {}); // whoever asked for that look has heard of its failure
      await this.look();
    })();
    return this.looking;
  }

  async look() {
    const news = await getIfChanged(studyPath(this.id), this.etag, { signal: this.signal, exact: true });
    if (news === null) return;
    const series = await get(studyPath(this.id, "series"), { signal: this.signal });
    const changed = this.changedTrials(series);
    this.etag = news.etag;
    this.study = news.body;
    this.series = series;
    await this.reload(changed);
    this.dispatchEvent(new Event("change"));
  }

  get minimizes() {
    return this.study.direction === "minimize";
  }

  get total() {
    return this.series.numbers.length;
  }

  changedTrials(series) {
    const known = this.series.states;
    return series.numbers.filter((n) => this.trials.has(n) ? series.states[n] !== known[n] : this.wholeHistory);
  }

  async reload(numbers) {
    for (const number of numbers) this.trials.delete(number);
    if (!this.wholeHistory || numbers.length === 0) return;
    if (numbers.length > FEW) await this.loadAll(() => {});
    else await Promise.all(numbers.map((number) => this.trial(number)));
  }

  async trial(number) {
    if (!this.trials.has(number)) {
      this.trials.set(number, await get(studyPath(this.id, "trials", number), { signal: this.signal }));
    }
    return this.trials.get(number);
  }

  // All trials, page by page; `progress` is called after each, and once only if they are there already.
  async loadAll(progress) {
    if (!(this.wholeHistory && this.trials.size >= this.total)) {
      for await (const trials of pages(studyPath(this.id, "trials"), "trials", { query: { limit: PAGE }, signal: this.signal })) {
        for (const trial of trials) this.trials.set(trial.number, trial);
        progress();
      }
      this.wholeHistory = true;
    } else progress();
  }
}

// The best value after each trial; null before the first completed one.
export function bestSoFar({ values }, minimizes) {
  let best = null;
  return values.map((value) => {
    if (value !== null && (best === null || (minimizes ? value < best : value > best))) best = value;
    return best;
  });
}
