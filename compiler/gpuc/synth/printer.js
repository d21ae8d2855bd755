// Renders the data that gpuc emitted as YAML. Each request is a line of JSON on stdin, and each answer is a line of
// JSON on stdout. A request is a list of [file, form, data]. For the form "objects", cdk8s renders the objects as an App
// with one Chart, and sorts their keys; for the form "documents", cdk8s renders each object with its keys in their order;
// for the form "values", cdk8s renders one document. The answer is {"texts": {file: text}} or {"error": reason}.
"use strict";
const fs = require("node:fs");
const { createRequire } = require("node:module");

const NEWLINE = 10;
const READ_BYTES = 1 << 20;

/** Characters that cdk8s does not escape, but that YAML parsers drop, reject or read as line breaks. */
const UNREADABLE = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/;
/** Strings that cdk8s may print without quotes, following YAML 1.1, and that Go's YAML parsers may read as numbers. */
const SUSPECT = /_|^[-+]?0[oOBX]/;
const NUMBER = /^[-+]?(0[obx][0-9a-f]+|[0-9.]+(e[-+]?[0-9]+)?)$/i;

let cdk8s;
let failure;
try {
  cdk8s = createRequire(`${process.argv[2]}/`)("cdk8s");
} catch (error) {
  failure = new Error(`cdk8s does not load from ${process.argv[2]}: ${error.message.split("\n")[0]}`);
}

/** Throws if cdk8s, JSON or a YAML parser would silently drop or change the data. Only Helm values may have nulls. */
function validate(data, at, form) {
  if (data === null && form !== "values") throw new Error(`null at ${at}`);
  if (typeof data === "string") validateText(data, at);
  if (Number.isInteger(data) && !Number.isSafeInteger(data)) throw new Error(`a number beyond 2^53 at ${at}`);
  if (typeof data !== "object" || data === null) return;
  for (const [key, value] of Object.entries(data)) {
    if (key === "__proto__") throw new Error(`the key __proto__ at ${at}`);
    validateText(key, `a key at ${at}`);
    validate(value, `${at}.${key}`, form);
  }
}

function validateText(text, at) {
  if (!text.isWellFormed()) throw new Error(`half a character at ${at}`);
  const match = UNREADABLE.exec(text);
  if (match) throw new Error(`the character U+${match[0].charCodeAt(0).toString(16).padStart(4, "0")} at ${at}`);
  if (isMisread(text)) throw new Error(`the text ${text}, which YAML parsers misread, at ${at}`);
}

/** Returns whether kubectl, Helm or Argo CD would read the text that cdk8s prints as a number or as a merge key. */
function isMisread(text) {
  if (text === "<<") return true;
  if (!SUSPECT.test(text) || !NUMBER.test(text.replaceAll("_", ""))) return false;
  return cdk8s.Yaml.stringify(text) === `${text}\n`;
}

function render(form, data) {
  const { App, Chart, ApiObject, Yaml } = cdk8s;
  if (form === "values") return Yaml.stringify(data);
  if (form === "documents") return Yaml.stringify(...data);
  const app = new App();
  const chart = new Chart(app, "file");
  data.forEach((object, index) => new ApiObject(chart, `object-${index}`, object));
  return app.synthYaml();
}

function answer(line) {
  let at = "the request";
  try {
    const texts = {};
    if (failure) throw failure;
    for (const [file, form, data] of JSON.parse(line)) {
      at = file;
      validate(data, "the root", form);
      texts[file] = render(form, data);
    }
    return { texts };
  } catch (error) {
    return { error: `${at}: ${error.message}` };
  }
}

function send(text) {
  const bytes = Buffer.from(text + "\n");
  for (let sent = 0; sent < bytes.length; ) sent += fs.writeSync(1, bytes, sent);
}

function serve() {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  let chunks = [];
  for (let count; (count = fs.readSync(0, buffer)) > 0; ) {
    let rest = buffer.subarray(0, count);
    for (let end; (end = rest.indexOf(NEWLINE)) >= 0; rest = rest.subarray(end + 1)) {
      const line = Buffer.concat([...chunks, rest.subarray(0, end)]).toString();
      chunks = [];
      send(JSON.stringify(answer(line)));
    }
    if (rest.length) chunks.push(Buffer.from(rest));
  }
}

serve();
