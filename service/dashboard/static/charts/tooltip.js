// A small box beside the pointer or the point in focus, with a heading and pairs of name and value.

import { h, replace } from "../dom.js";
import { shorten } from "../format.js";

const MOST = 12;

export function tooltip(host) {
  const box = h("div", { class: "tooltip", "aria-hidden": "true", hidden: true });
  host.append(box);
  return {
    show(x, y, heading, pairs = []) {
      const rows = pairs.slice(0, MOST).map(([name, value]) => [h("dt", {}, shorten(name, 24)), h("dd", {}, shorten(value, 24))]);
      const rest = pairs.length > MOST ? h("p", {}, `and ${pairs.length - MOST} more`) : null;
      replace(box, h("strong", {}, heading), rows.length ? h("dl", {}, rows) : null, rest);
      box.hidden = false;
      const left = x + 14 + box.offsetWidth > host.clientWidth ? x - 14 - box.offsetWidth : x + 14;
      box.style.left = `${Math.max(0, left)}px`;
      box.style.top = `${Math.max(0, Math.min(y + 10, host.clientHeight - box.offsetHeight))}px`;
    },
    hide() {
      box.hidden = true;
    },
  };
}
