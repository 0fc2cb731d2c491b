// Where the server asks for an API key: typed in once, kept for this tab.

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { key } from "../session.js";
import { field, input } from "./parts.js";

const REFUSED = "The server does not accept this key: it is unknown, or it was revoked. Check it and try again.";

export function keyView(main, refused, done) {
  const control = input({ type: "password", name: "key", required: true, placeholder: "dumbo_…" });
  const message = h("p", { class: "notice bad", role: "alert", hidden: !refused }, refused ? REFUSED : "");
  const heading = h("h1", { tabindex: "-1" }, "This server asks for an API key");
  const send = async (event) => {
    event.preventDefault();
    key.set(control.value.trim());
    // A refused key brings this view back, with its message, through the event that every 401 raises.
    const accepted = await get("v1/studies", { query: { limit: 1 } }).catch((error) => {
      if (error.status === 401) return null;
      replace(message, error.message);
      message.hidden = false;
      return null;
    });
    if (accepted) done();
  };
  const form = h("form", { class: "card narrow", on: { submit: send } },
    h("p", {}, "Whoever runs the server makes one with ", h("code", {}, "dumbo keys create NAME"), "."),
    message,
    field("API key", control, { hint: "Kept in this tab until you close it, and sent to this server only." }),
    h("button", { type: "submit", class: "primary" }, "Use this key"));
  replace(main, heading, form);
  return refused ? control : heading;
}
