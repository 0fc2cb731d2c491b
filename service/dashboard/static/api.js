// The public API, as any client sees it. Errors carry the problem's code and the faulty fields.

import { key } from "./session.js";

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `the server answered ${status}`);
    this.status = status;
    this.code = body.code ?? "unknown";
    this.title = body.title ?? "";
    this.errors = body.errors ?? [];
  }
}

export class Unreachable extends Error {}

export const studyPath = (id, ...rest) => ["v1/studies", encodeURIComponent(id), ...rest].join("/");

export async function get(path, { query, signal, exact } = {}) {
  const response = await request("GET", path + search(query), { signal });
  return exact ? JSON.parse(await response.text(), keepLongIntegers) : response.json();
}

// What is new at `path`, or null while it is what `etag` names.
export async function getIfChanged(path, etag, { signal, exact } = {}) {
  const headers = etag === null ? {} : { "If-None-Match": etag };
  const response = await request("GET", path, { headers, signal });
  if (response.status === 304) return null;
  const text = await response.text();
  return { etag: response.headers.get("etag"), body: JSON.parse(text, exact ? keepLongIntegers : undefined) };
}

export async function post(path, body, { signal } = {}) {
  const response = await request("POST", path, {
    signal,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return response.json();
}

export async function patch(path, body) {
  const response = await request("PATCH", path, {
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return response.json();
}

export async function remove(path) {
  await request("DELETE", path, {});
}

export async function download(path) {
  const response = await request("GET", path, {});
  return response.blob();
}

// Every page of a listing, handed over as it arrives.
export async function* pages(path, field, { query = {}, signal } = {}) {
  let cursor;
  do {
    const page = await get(path, { query: { ...query, cursor }, signal });
    yield page[field];
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
}

async function request(method, path, { headers = {}, body, signal }) {
  const secret = key.get();
  if (secret) headers = { ...headers, Authorization: `Bearer ${secret}` };
  let response;
  try {
    response = await fetch(path, { method, headers, body, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("the server cannot be reached");
  }
  if (response.ok || response.status === 304) return response;
  const problem = new Problem(response.status, await response.json().catch(() => ({})));
  if (problem.status === 401) document.dispatchEvent(new CustomEvent("keyneeded", { detail: { refused: Boolean(secret) } }));
  throw problem;
}

function search(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

// A seed has up to 19 digits, more than a double holds.
function keepLongIntegers(_, value, context) {
  const long = Number.isInteger(value) && !Number.isSafeInteger(value);
  return long && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value;
}
