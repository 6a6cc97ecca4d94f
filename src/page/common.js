// What both views share: elements, numbers, the key, and requests to the server.

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const find = (id) => document.getElementById(id);

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${n >= 100 || i === 0 ? n.toFixed(0) : n.toFixed(1)} ${units[i]}`;
}

export function count(n) {
  return n >= 1e6 ? `${(n / 1e6).toFixed(1)} M` : n >= 1e4 ? `${(n / 1e3).toFixed(1)} k` : n >= 100 ? n.toFixed(0) : `${Math.round(n * 10) / 10}`;
}

export function milliseconds(ms) {
  return !(ms > 0) ? "–" : ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : ms >= 10 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`;
}

// The key lies in the storage of this tab alone.
export const key = { get: () => sessionStorage.getItem("shoal-key") ?? "", set: (value) => sessionStorage.setItem("shoal-key", value) };

export function headers(more = {}) {
  return key.get() === "" ? more : { ...more, Authorization: `Bearer ${key.get()}` };
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// Sends a request. Throws Refused with the server's own sentence when the answer is an error.
export async function ask(path, options = {}) {
  const answer = await fetch(path, { cache: "no-store", ...options, headers: headers(options.headers) });
  if (answer.ok) return answer;
  let message = `${path} answered ${answer.status}`;
  try {
    message = (await answer.json()).error.message;
  } catch {
    // The body is no error of this server; its status says enough.
  }
  throw new Refused(answer.status, message);
}

export function post(path, body, more = {}) {
  return ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), ...more });
}

// Yields the events of a stream: {event, data}.
export async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n");
      const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      const event = lines.find((line) => line.startsWith("event: "))?.slice(7) ?? "message";
      if (data !== "") yield { event, data };
    }
  }
}

export function notice(text) {
  const place = find("notice");
  place.hidden = text === "";
  if (place.textContent !== text) place.textContent = text;
}
