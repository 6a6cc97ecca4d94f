// The dashboard: models, memory, rates and events, read every two seconds from /models and /metrics.
import { Chart } from "./charts.js";
import { ask, bytes, count, el, events, find, headers, key, milliseconds, notice, post } from "./common.js";

const PERIOD_MS = 2000, EVENTS_MAX = 200, COLOURS = 8;
const rows = new Map(); // of models, by id
const bars = new Map(); // of engines, by number
let before = null;      // the last figures, for rates
let mayOperate = false;

/* --- figures --- */

// Parses Prometheus text: a function that sums a metric's values whose labels match.
function parseMetrics(text) {
  const series = new Map();
  for (const line of text.split("\n")) {
    const parts = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (parts === null) continue;
    const labels = {};
    for (const [, name, value] of (parts[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    if (!series.has(parts[1])) series.set(parts[1], []);
    series.get(parts[1]).push({ labels, value: Number(parts[3]) });
  }
  return (name, match = {}) => (series.get(name) ?? []).filter(({ labels }) => Object.entries(match).every(([k, v]) => labels[k] === v))
    .reduce((sum, { value }) => sum + value, 0);
}

function figuresOf(models, metric) {
  const now = performance.now();
  const figures = { now, tokens: new Map(), prompts: metric("vllm:prompt_tokens_total"), steps: metric("shoal_engine_steps_total") };
  for (const model of models) figures.tokens.set(model.id, metric("vllm:generation_tokens_total", { model_name: model.id }));
  const span = before === null ? 0 : (now - before.now) / 1000;
  const rate = (value, old) => (span > 0 && old !== undefined && value >= old ? (value - old) / span : 0);
  const rates = {
    models: new Map(models.map((model) => [model.id, rate(figures.tokens.get(model.id), before?.tokens.get(model.id))])),
    prompts: rate(figures.prompts, before?.prompts),
    steps: rate(figures.steps, before?.steps),
  };
  rates.tokens = [...rates.models.values()].reduce((sum, value) => sum + value, 0);
  before = figures;
  return rates;
}

/* --- parts of the page --- */

const tiles = {};
function tile(name, text) {
  if (tiles[name] === undefined) {
    tiles[name] = el("dd");
    find("tiles").append(el("div", {}, el("dt", {}, name), tiles[name]));
  }
  tiles[name].textContent = text;
}

async function change(model, verb, button) {
  button.disabled = true;
  try {
    await post(`/models/${verb}`, { model });
    notice("");
  } catch (error) {
    notice(error.message);
  }
  button.disabled = false;
  void refresh();
}

function newRow(id) {
  const names = [null, null, "on", "waiting", "running", "tokens/s", "first token", "per token", null];
  const cells = names.map((name, i) => el("td", { "data-name": name, class: i > 2 && i < 8 ? "n" : null }));
  const state = el("span", { class: "state" }), why = el("span", { class: "why" });
  const load = el("button", { type: "button", "aria-label": `Load ${id}`, onclick: () => void change(id, "load", load) }, "Load");
  const unload = el("button", { type: "button", "aria-label": `Unload ${id}`, onclick: () => void change(id, "unload", unload) }, "Unload");
  cells[0].append(el("strong", {}, id));
  cells[1].append(state, why);
  cells[8].append(load, " ", unload);
  const row = { row: el("tr", {}, ...cells), cells, state, why, load, unload };
  find("models").tBodies[0].append(row.row);
  return row;
}

const stateOf = (model) => model.status?.value ?? (model.status === undefined ? "listed" : "unknown");

function showModel(model, rate) {
  if (!rows.has(model.id)) rows.set(model.id, newRow(model.id));
  const { cells, state, why, load, unload } = rows.get(model.id);
  const status = stateOf(model), progress = model.status?.progress;
  const texts = [null, null, (model.devices ?? []).join(", "), count(model.requests_waiting ?? 0), count(model.requests_running ?? 0), count(rate),
    milliseconds(model.ttft_ms_p50), milliseconds(model.tpot_ms_p50), null];
  texts.forEach((text, i) => { if (text !== null) cells[i].textContent = text; });
  state.textContent = progress > 0 ? `${status} ${Math.round(progress * 100)}%` : status;
  state.dataset.state = status;
  why.textContent = model.status?.reason ?? "";
  load.hidden = !mayOperate || status === "loaded" || status === "loading";
  unload.hidden = !mayOperate || status !== "loaded";
}

function newBar(engine, device) {
  const text = el("span"), bar = el("div", { class: "bar", role: "img" });
  find("memory").append(el("div", { class: "bar-head" }, el("span", {}, `engine ${engine}, ${device}`), text), bar);
  return { text, bar };
}

// One bar for each engine: weights, activations and KV of each model, and what is free.
function showMemory(models, metric) {
  const engines = new Map();
  models.forEach((model, place) => (model.engines ?? []).forEach((part) => {
    if (!engines.has(part.engine)) engines.set(part.engine, { device: part.device, parts: [] });
    const memory = part.memory;
    for (const [kind, name, n] of [["weights", "weights and activations", memory.weights_bytes + memory.activation_bytes], ["kv", "KV in use", memory.kv_used_bytes],
      ["cached", "KV of prefixes", memory.kv_cached_bytes]]) {
      if (n > 0) engines.get(part.engine).parts.push({ place, kind, title: `${model.id}, ${name}: ${bytes(n)}`, n });
    }
  }));
  for (const [engine, { device, parts }] of engines) {
    if (!bars.has(engine)) bars.set(engine, newBar(engine, device));
    const { text, bar } = bars.get(engine);
    const used = parts.reduce((sum, part) => sum + part.n, 0);
    const all = Math.max(metric("shoal_engine_memory_bytes", { engine: String(engine) }), used, 1);
    text.textContent = `${bytes(used)} of ${bytes(all)}`;
    bar.setAttribute("aria-label", parts.map((part) => part.title).join("; ") || "nothing is loaded");
    bar.replaceChildren(...parts.map((part) => {
      const piece = el("i", { class: `c${part.place % COLOURS} part-${part.kind}`, title: part.title });
      piece.style.width = `${100 * part.n / all}%`;
      return piece;
    }));
  }
  find("memory-legend").replaceChildren(...models.map((model, place) => el("li", {}, el("span", { class: `key c${place % COLOURS}` }), model.id)),
    el("li", { class: "quiet" }, "full colour: weights and activations; pale: KV in use; palest: KV of prefixes"));
}

const charts = ["output tokens/s", "requests waiting", "requests running"].map((title) => new Chart(find("charts"), title, count));

function show(models, metric, version) {
  const rates = figuresOf(models, metric);
  const waiting = metric("vllm:num_requests_waiting"), running = metric("vllm:num_requests_running");
  for (const model of models) showModel(model, rates.models.get(model.id));
  for (const [id, row] of rows) {
    if (models.some((model) => model.id === id)) continue;
    row.row.remove();
    rows.delete(id);
  }
  showMemory(models, metric);
  tile("running", count(running));
  tile("waiting", count(waiting));
  tile("output tokens/s", count(rates.tokens));
  tile("prompt tokens/s", count(rates.prompts));
  tile("preempted", count(metric("vllm:num_preemptions_total")));
  tile("connections", count(metric("shoal_http_connections")));
  tile("version", version);
  [rates.tokens, waiting, running].forEach((value, i) => charts[i].add(Date.now(), value));
}

/* --- the server --- */

function health(state, text) {
  find("health").dataset.state = state;
  find("health").textContent = text;
}

async function showHealth() {
  const answer = await fetch("/health", { cache: "no-store" });
  const text = answer.ok ? "healthy" : (await answer.json()).error?.message ?? `status ${answer.status}`;
  health(answer.ok ? "good" : "bad", text);
}

let timer = null, version = null;
async function refresh() {
  clearTimeout(timer);
  try {
    await showHealth();
    version ??= (await (await ask("/version")).json()).version;
    const [models, metrics] = await Promise.all([ask("/models"), ask("/metrics")]);
    const list = (await models.json()).data;
    mayOperate = list.some((model) => model.engines !== undefined);
    show(list, parseMetrics(await metrics.text()), version);
    if (watched === null && mayOperate) void watch();
    if (find("notice").dataset.from === "refresh") notice("");
  } catch (error) {
    if (error.status === undefined) health("bad", "the server does not answer");
    find("notice").dataset.from = "refresh";
    notice(error.status === 401 || error.status === 403 ? `${error.message}. Give a key with the button "Key".` : error.message);
  }
  timer = document.hidden ? null : setTimeout(refresh, PERIOD_MS);
}

function addEvent(text) {
  const list = find("events");
  list.querySelector(".quiet")?.remove();
  list.prepend(el("li", {}, el("time", {}, new Date().toLocaleTimeString()), text));
  while (list.children.length > EVENTS_MAX) list.lastChild.remove();
}

// Follows changes of models' states. The first event of each model says what is, not what changed.
let watched = null;
async function watch() {
  const stop = new AbortController(), known = new Map();
  watched = stop;
  try {
    const answer = await fetch("/models/sse", { headers: headers(), signal: stop.signal });
    if (!answer.ok) return;
    for await (const { data } of events(answer)) {
      const { model, status } = JSON.parse(data);
      const text = `${status.value}${status.reason ? `: ${status.reason}` : ""}`;
      if (known.has(model) && known.get(model) !== text) addEvent(`${model}: ${text}`);
      known.set(model, text);
    }
  } catch {
    // The server went away: the next refresh says so and begins anew.
  }
  if (watched === stop) watched = null;
}

/* --- the key and the views --- */

find("key-button").addEventListener("click", () => {
  find("key").value = key.get();
  find("key-dialog").showModal();
});
find("key-cancel").addEventListener("click", () => find("key-dialog").close());
find("key-form").addEventListener("submit", () => {
  key.set(find("key").value);
  watched?.abort();
  watched = null;
  notice("");
  void refresh();
  document.dispatchEvent(new Event("shoal-key"));
});

function turn() {
  const isChat = location.hash === "#chat";
  for (const name of ["board", "chat"]) {
    const isHere = (name === "chat") === isChat;
    find(name).hidden = !isHere;
    if (isHere) find(`to-${name}`).setAttribute("aria-current", "page");
    else find(`to-${name}`).removeAttribute("aria-current");
  }
  if (isChat) find("chat-text").focus();
}
addEventListener("hashchange", turn);
document.addEventListener("visibilitychange", () => { if (!document.hidden) void refresh(); });
turn();
void refresh();
