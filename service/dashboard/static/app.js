// The shell: which view is shown, how the connection stands, which theme is on, and whether a key is needed.

import { replace } from "./dom.js";
import { onRoute } from "./router.js";
import { say } from "./poll.js";
import { key, theme } from "./session.js";
import { createView } from "./views/create.js";
import { keyView } from "./views/key.js";
import { failure } from "./views/parts.js";
import { studiesView } from "./views/studies.js";
import { StudyPage } from "./views/study.js";

const main = document.getElementById("main");
const STATES = { live: "Live", lost: "No connection – trying again", paused: "Paused", idle: "" };
const THEMES = { auto: "light", light: "dark", dark: "auto" };

let route = null;
let view = new AbortController();
let page = null; // the study whose tabs are shown

async function show(next, { moved = true } = {}) {
  const stays = page !== null && page.id === next.study;
  view.abort();
  view = new AbortController();
  if (!stays) {
    page?.close();
    page = next.study ? new StudyPage(next.study) : null;
    say("idle");
  }
  if (route !== null && moved && !stays) main.focus();
  route = next;
  const { signal } = view;
  try {
    await render(next, signal);
  } catch (error) {
    if (!signal.aborted && error.status !== 401) replace(main, failure(error));
  }
}

function render(next, signal) {
  if (page) return page.show(main, next, signal);
  if (next.view === "create") return createView(main, signal);
  if (next.view === "studies") return studiesView(main, signal);
  return replace(main, failure(new Error("There is no such page.")));
}

function askForKey(event) {
  view.abort();
  page?.close();
  page = null;
  say("idle");
  key.forget();
  forget.hidden = true;
  const heading = keyView(main, event.detail.refused, () => show(route, { moved: false }));
  heading.focus();
}

const forget = document.getElementById("forget-key");
forget.addEventListener("click", () => {
  key.forget();
  location.reload();
});

const chooser = document.getElementById("theme");
const nameTheme = () => replace(chooser, `◐ ${theme.get()}`);
chooser.addEventListener("click", () => {
  theme.set(THEMES[theme.get()]);
  nameTheme();
});

document.addEventListener("connection", ({ detail }) => {
  const status = document.getElementById("connection");
  if (status.dataset.state === detail) return;
  status.dataset.state = detail;
  replace(status, STATES[detail]);
  forget.hidden = key.get() === null;
});
document.addEventListener("keyneeded", askForKey);

theme.apply();
nameTheme();
onRoute(show);
