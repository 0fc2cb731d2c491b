// Keeps looking for news, politely: pauses in a hidden tab, slows down when the server is gone, says how it stands.

import { Problem } from "./api.js";

const EVERY = 1500;
const SLOWEST = 15000;

export async function poll(look, signal, every = EVERY) {
  let wait = every;
  while (!signal.aborted) {
    try {
      await look();
      say("live");
      wait = every;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && error.status < 500) throw error;
      say("lost");
      wait = Math.min(2 * wait, SLOWEST);
    }
    await pause(wait, signal);
    if (document.hidden) {
      say("paused");
      await visible(signal);
    }
  }
}

export function say(state) {
  document.dispatchEvent(new CustomEvent("connection", { detail: state }));
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

function visible(signal) {
  return new Promise((resolve) => {
    const look = () => { if (!document.hidden) resolve(); };
    document.addEventListener("visibilitychange", look, { signal });
    signal.addEventListener("abort", resolve, { once: true });
    look();
  });
}
