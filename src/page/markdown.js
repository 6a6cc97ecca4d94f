// Shows markdown as elements. No text becomes HTML: each piece is a text node.
import { el } from "./common.js";

// Code, bold, italic and links of one line, in this order.
const INLINE = /(`+)([^`].*?)\1(?!`)|\*\*(\S(?:.*?\S)?)\*\*|\*(\S(?:.*?\S)?)\*|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/;

function inline(text) {
  const out = [];
  for (let rest = text; rest !== "";) {
    const found = INLINE.exec(rest);
    if (found === null) {
      out.push(rest);
      break;
    }
    if (found.index > 0) out.push(rest.slice(0, found.index));
    const [all, , code, bold, italic, label, address] = found;
    if (code !== undefined) out.push(el("code", {}, code));
    else if (bold !== undefined) out.push(el("strong", {}, ...inline(bold)));
    else if (italic !== undefined) out.push(el("em", {}, ...inline(italic)));
    else out.push(el("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, label));
    rest = rest.slice(found.index + all.length);
  }
  return out;
}

const isItem = (line) => /^\s*(?:[-*+]|\d+[.)])\s+/.test(line);
const isRow = (line) => /^\s*\|.*\|\s*$/.test(line);
const cellsOf = (line) => line.trim().slice(1, -1).split("|").map((cell) => cell.trim());
const isBegin = (line) => /^(?:```|#{1,6} |> )/.test(line) || isItem(line) || isRow(line);

// Each reader takes lines from the front of the list and returns an element.
function readCode(lines) {
  const taken = [];
  lines.shift();
  while (lines.length > 0 && !lines[0].startsWith("```")) taken.push(lines.shift());
  lines.shift();
  return el("pre", {}, el("code", {}, taken.join("\n")));
}

function readList(lines) {
  const list = el(/^\s*\d/.test(lines[0]) ? "ol" : "ul");
  while (lines.length > 0 && isItem(lines[0])) list.append(el("li", {}, ...inline(lines.shift().replace(/^\s*(?:[-*+]|\d+[.)])\s+/, ""))));
  return list;
}

function readTable(lines) {
  const body = [];
  while (lines.length > 0 && isRow(lines[0])) body.push(cellsOf(lines.shift()));
  const isHead = body.length > 1 && body[1].every((cell) => /^:?-+:?$/.test(cell));
  const row = (cells, name) => el("tr", {}, ...cells.map((cell) => el(name, {}, ...inline(cell))));
  const rows = isHead ? [row(body[0], "th"), ...body.slice(2).map((cells) => row(cells, "td"))] : body.map((cells) => row(cells, "td"));
  return el("div", { class: "wide" }, el("table", {}, ...rows));
}

function readParagraph(lines) {
  const taken = [lines.shift()];
  while (lines.length > 0 && lines[0].trim() !== "" && !isBegin(lines[0])) taken.push(lines.shift());
  return el("p", {}, ...taken.flatMap((line, i) => (i > 0 ? [el("br"), ...inline(line)] : inline(line))));
}

export function markdown(text) {
  const lines = text.split("\n"), out = [];
  while (lines.length > 0) {
    const line = lines[0];
    const heading = /^(#{1,6}) (.*)$/.exec(line);
    if (line.trim() === "") lines.shift();
    else if (line.startsWith("```")) out.push(readCode(lines));
    else if (heading !== null) out.push(el(`h${Math.min(heading[1].length + 2, 6)}`, {}, ...inline((lines.shift(), heading[2]))));
    else if (line.startsWith("> ")) out.push(el("blockquote", {}, ...inline(lines.shift().slice(2))));
    else if (isItem(line)) out.push(readList(lines));
    else if (isRow(line)) out.push(readTable(lines));
    else out.push(readParagraph(lines));
  }
  return out;
}
