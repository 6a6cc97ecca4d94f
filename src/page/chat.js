// A chat with any model: streamed, with reasoning and tool calls shown.
import { ask, el, events, find, milliseconds, notice, post } from "./common.js";
import { markdown } from "./markdown.js";

const SHOW_MS = 60; // the answer is drawn anew at most this often
let messages = [];  // what the model is sent
let running = null; // the request under way

async function listModels() {
  try {
    const list = (await (await ask("/v1/models")).json()).data.map((model) => model.id);
    const chosen = find("chat-model").value;
    find("chat-model").replaceChildren(...list.map((id) => el("option", { value: id }, id)));
    if (list.includes(chosen)) find("chat-model").value = chosen;
  } catch (error) {
    notice(error.message);
  }
}

function addMessage(who) {
  const log = find("chat-log");
  const body = el("div", { class: "body" }), figures = el("p", { class: "figures" });
  log.append(el("article", { class: `message ${who === "you" ? "user" : "model"}` }, el("div", { class: "who" }, who), body, figures));
  log.scrollTop = log.scrollHeight;
  return { body, figures };
}

function toolsOf() {
  const text = find("chat-tools").value.trim();
  if (text === "") return undefined;
  const tools = JSON.parse(text);
  return tools.map((tool) => (tool.function === undefined ? { type: "function", function: tool } : tool));
}

function bodyOf() {
  const system = find("chat-system").value.trim(), tools = toolsOf();
  const temperature = find("chat-temperature").value, tokens = find("chat-tokens").value;
  return {
    model: find("chat-model").value,
    messages: [...(system === "" ? [] : [{ role: "system", content: system }]), ...messages],
    stream: true,
    stream_options: { include_usage: true },
    ...(temperature === "" ? {} : { temperature: Number(temperature) }),
    ...(tokens === "" ? {} : { max_tokens: Number(tokens) }),
    ...(tools === undefined ? {} : { tools }),
  };
}

// Joins the deltas of a stream to one message.
function take(message, delta) {
  message.content += delta.content ?? "";
  message.reasoning += delta.reasoning_content ?? "";
  for (const part of delta.tool_calls ?? []) {
    const call = (message.calls[part.index] ??= { id: "", type: "function", function: { name: "", arguments: "" } });
    call.id ||= part.id ?? "";
    call.function.name += part.function?.name ?? "";
    call.function.arguments += part.function?.arguments ?? "";
  }
}

// Shows a call, and takes its result once the answer has ended.
function showCall(call, isOver) {
  const place = el("div", { class: "call" }, el("div", {}, "calls ", el("strong", {}, call.function.name)), el("pre", {}, el("code", {}, call.function.arguments)));
  if (!isOver) return place;
  const result = el("textarea", { rows: 2, "aria-label": `Result of ${call.function.name}`, placeholder: "result of the call" });
  const button = el("button", { type: "button", onclick: () => {
    messages.push({ role: "tool", tool_call_id: call.id, content: result.value });
    result.disabled = button.disabled = true;
    if (messages.filter((m) => m.role === "tool").length >= messages.flatMap((m) => m.tool_calls ?? []).length) void send();
  } }, "Return it");
  place.append(result, button);
  return place;
}

function draw(place, message, isOver) {
  const log = find("chat-log"), isAtEnd = log.scrollTop + log.clientHeight > log.scrollHeight - 40;
  const parts = [];
  if (message.reasoning !== "") parts.push(el("details", { open: message.content === "" && !isOver }, el("summary", {}, "Reasoning"), ...markdown(message.reasoning)));
  parts.push(...markdown(message.content), ...message.calls.map((call) => showCall(call, isOver)));
  if (message.fault !== "") parts.push(el("p", { class: "fault", role: "alert" }, message.fault));
  place.body.replaceChildren(...parts);
  place.figures.textContent = message.figures;
  if (isAtEnd) log.scrollTop = log.scrollHeight;
}

async function stream(message, place, signal) {
  let drawn = 0;
  for await (const { data } of events(await post("/v1/chat/completions", bodyOf(), { signal }))) {
    if (data === "[DONE]") break;
    const chunk = JSON.parse(data);
    if (chunk.error !== undefined) throw new Error(chunk.error.message);
    for (const choice of chunk.choices) take(message, choice.delta);
    if (chunk.usage) message.figures = `${chunk.usage.prompt_tokens} + ${chunk.usage.completion_tokens} tokens` +
      (chunk.shoal ? `, first after ${milliseconds(chunk.shoal.ttft_ms)}` : "") +
      (chunk.timings?.predicted_per_second > 0 ? `, ${chunk.timings.predicted_per_second.toFixed(1)} tokens/s` : "");
    if (performance.now() - drawn > SHOW_MS) {
      drawn = performance.now();
      draw(place, message, false);
    }
  }
}

function setRunning(stop) {
  running = stop;
  find("chat-send").hidden = stop !== null;
  find("chat-stop").hidden = stop === null;
}

async function send() {
  const place = addMessage(find("chat-model").value), stop = new AbortController();
  const message = { content: "", reasoning: "", calls: [], fault: "", figures: "" };
  setRunning(stop);
  try {
    await stream(message, place, stop.signal);
  } catch (error) {
    if (stop.signal.aborted) message.figures = "stopped";
    else message.fault = error.message;
  }
  if (running === stop) setRunning(null);
  if (!place.body.isConnected) return; // a new chat has begun
  draw(place, message, true);
  if (message.content !== "" || message.calls.length > 0)
    messages.push({ role: "assistant", content: message.content, ...(message.calls.length > 0 ? { tool_calls: message.calls } : {}) });
  find("chat-text").focus();
}

find("chat-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = find("chat-text").value;
  if (text.trim() === "" || running !== null) return;
  try {
    toolsOf();
  } catch {
    notice("Tools must be a JSON array of functions.");
    return;
  }
  notice("");
  find("chat-text").value = "";
  addMessage("you").body.textContent = text;
  messages.push({ role: "user", content: text });
  void send();
});
find("chat-text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  find("chat-form").requestSubmit();
});
find("chat-bar").addEventListener("submit", (event) => event.preventDefault());
find("chat-stop").addEventListener("click", () => running?.abort());
find("chat-clear").addEventListener("click", () => {
  running?.abort();
  messages = [];
  find("chat-log").replaceChildren();
  find("chat-text").focus();
});
document.addEventListener("shoal-key", () => void listModels());
addEventListener("hashchange", () => void listModels());
void listModels();
