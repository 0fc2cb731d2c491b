// Renders /openapi.json. Text goes in as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function el(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function resolve(spec, schema) {
  if (!schema || !schema.$ref) return schema || {};
  return schema.$ref.slice(2).split("/").reduce((node, key) => node[key], spec);
}

// A short name of a schema's type, such as "array of TrialOut".
function typeName(schema) {
  if (!schema) return "any";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.anyOf || schema.oneOf;
  if (choices) return choices.map(typeName).join(" | ");
  if (schema.type === "array") return `array of ${typeName(schema.items)}`;
  if (schema.type === "object" && schema.additionalProperties && schema.additionalProperties !== true) {
    return `map to ${typeName(schema.additionalProperties)}`;
  }
  return schema.type || "any";
}

function table(head, rows) {
  const header = el("tr", "", ...head.map((text) => el("th", "", text)));
  return el("table", "", header, ...rows.map((row) => el("tr", "", ...row.map((cell) => el("td", "", cell)))));
}

// Tables of a schema's fields and of those of the schemas it refers to, each once.
function fields(spec, schema, seen = new Set()) {
  const name = schema && schema.$ref ? typeName(schema) : null;
  if (name && seen.has(name)) return [];
  if (name) seen.add(name);
  const full = resolve(spec, schema);
  const nested = [];
  for (const part of [...(full.anyOf || []), ...(full.oneOf || []), full.items, full.additionalProperties]) {
    if (part && typeof part === "object") nested.push(...fields(spec, part, seen));
  }
  if (!full.properties) return nested;
  const required = new Set(full.required || []);
  const rows = Object.entries(full.properties).map(([key, value]) => [
    el("code", "", required.has(key) ? key : `${key}?`),
    typeName(value),
    value.description || "",
  ]);
  for (const value of Object.values(full.properties)) nested.push(...fields(spec, value, seen));
  return [el("h3", "", name || "object"), table(["field", "type", ""], rows), ...nested];
}

function examples(schema) {
  return (schema.examples || []).map((example) => el("pre", "", JSON.stringify(example, null, 2)));
}

function requestBody(spec, operation) {
  if (!operation.requestBody) return [];
  const schema = operation.requestBody.content["application/json"].schema;
  const parts = schema.oneOf || schema.anyOf || [schema];
  return [
    el("h3", "", operation.requestBody.required ? "Body" : "Body (optional)"),
    ...fields(spec, schema),
    ...parts.flatMap((part) => examples(resolve(spec, part))),
  ];
}

function answers(spec, operation) {
  const rows = Object.entries(operation.responses).map(([status, answer]) => {
    const [type, content] = Object.entries(answer.content || {})[0] || ["", {}];
    return [el("code", "", status), content.schema ? `${typeName(content.schema)} (${type})` : type, answer.description];
  });
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  const schema = success && (success[1].content || {})["application/json"];
  return [el("h3", "", "Answers"), table(["status", "content", ""], rows), ...(schema ? fields(spec, schema.schema) : [])];
}

function render(spec, method, path, operation) {
  const parameters = (operation.parameters || []).map((p) => [
    el("code", "", p.required ? p.name : `${p.name}?`), p.in, typeName(p.schema), p.description || "",
  ]);
  return el(
    "details", "",
    el("summary", "", el("span", "method", method.toUpperCase()), el("span", "path", path), el("span", "about", operation.summary || "")),
    el("p", "", operation.description || ""),
    ...(parameters.length ? [el("h3", "", "Parameters"), table(["name", "in", "type", ""], parameters)] : []),
    ...requestBody(spec, operation),
    ...answers(spec, operation),
  );
}

async function main() {
  const spec = await (await fetch("/openapi.json")).json();
  document.getElementById("title").textContent = `${spec.info.title} API ${spec.info.version}`;
  document.getElementById("about").textContent = spec.info.description;
  const groups = new Map();
  for (const [path, operations] of Object.entries(spec.paths)) {
    for (const method of METHODS.filter((name) => operations[name])) {
      const tag = (operations[method].tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(render(spec, method, path, operations[method]));
    }
  }
  const target = document.getElementById("operations");
  for (const [tag, items] of groups) target.append(el("h2", "", tag), ...items);
}

main();
