// Lines over the last five minutes.
import { el } from "./common.js";

const SPAN_MS = 5 * 60 * 1000, WIDTH = 300, HEIGHT = 80;
const svg = (name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

export class Chart {
  constructor(place, title, show) {
    this.points = [];
    this.show = show;
    this.most = el("span");
    this.line = svg("polyline", { class: "line" });
    this.mark = svg("title", {});
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
    this.picture.append(this.mark, svg("line", { class: "base", x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1 }), this.line);
    this.picture.addEventListener("pointermove", (event) => this.point(event));
    place.append(el("figure", {}, el("figcaption", {}, title, this.most), this.picture));
  }

  add(now, value) {
    this.points.push({ now, value });
    while (this.points.length > 0 && this.points[0].now < now - SPAN_MS) this.points.shift();
    const most = Math.max(...this.points.map((point) => point.value));
    const top = most > 0 ? most * 1.1 : 1;
    const place = ({ now: at, value: v }) => `${(WIDTH * (1 - (now - at) / SPAN_MS)).toFixed(1)},${(HEIGHT - 1 - (HEIGHT - 3) * v / top).toFixed(1)}`;
    this.now = now;
    this.line.setAttribute("points", this.points.map(place).join(" "));
    this.most.textContent = `${this.show(value)} now, most ${this.show(most)}`;
  }

  // Shows the value under the pointer.
  point(event) {
    const box = this.picture.getBoundingClientRect();
    const at = this.now - SPAN_MS * (1 - (event.clientX - box.left) / box.width);
    const near = this.points.reduce((best, p) => (best === null || Math.abs(p.now - at) < Math.abs(best.now - at) ? p : best), null);
    if (near !== null) this.mark.textContent = `${this.show(near.value)} at ${new Date(near.now).toLocaleTimeString()}`;
  }
}
