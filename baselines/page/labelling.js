"use strict";
// One answer at a time, labelled by keys; the sheet is saved as CSV. Texts only ever become text nodes.

const SHEET = JSON.parse(document.getElementById("sheet").textContent);
const [COLUMNS, ...ROWS] = SHEET.rows;
const LABEL = COLUMNS.indexOf("label");
const WORDS = SHEET.words;
const SHOWN = ["question", "passages", "gold", "answer"];
let at = 0;

/** Take over what was labelled in this browser before; a browser may keep nothing for files. */
function recall() {
  try {
    const kept = JSON.parse(localStorage.getItem(SHEET.place) ?? "[]");
    ROWS.forEach((row, n) => (row[LABEL] = SHEET.grades.includes(kept[n]) ? kept[n] : ""));
  } catch {}
}

function keep() {
  try {
    localStorage.setItem(SHEET.place, JSON.stringify(ROWS.map((row) => row[LABEL])));
  } catch {}
}

function add(parent, tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  parent.append(element);
  return element;
}

/** Several ways to say the gold are a JSON list in the sheet. */
function spell(text) {
  try {
    const ways = JSON.parse(text);
    return Array.isArray(ways) ? ways.join(" / ") : text;
  } catch {
    return text;
  }
}

function show() {
  const item = document.getElementById("item");
  item.replaceChildren();
  for (const name of SHOWN) {
    const text = ROWS[at][COLUMNS.indexOf(name)];
    if (text === "") continue;
    add(item, "h4", WORDS[name]);
    add(item, "p", name === "gold" ? spell(text) : text).className = "text";
  }
  const done = ROWS.filter((row) => row[LABEL] !== "").length;
  const counts = [at + 1, ROWS.length, done];
  document.getElementById("count").textContent = WORDS.count.replace(/\{(\d)\}/g, (_, n) => counts[n]);
  for (const [n, button] of [...document.getElementById("grades").children].entries())
    button.setAttribute("aria-pressed", String(ROWS[at][LABEL] === SHEET.grades[n]));
}

function go(to) {
  at = Math.min(Math.max(to, 0), ROWS.length - 1);
  show();
}

function label(grade) {
  ROWS[at][LABEL] = grade;
  keep();
  go(grade === "" ? at : at + 1);
}

function save() {
  const computed = new RegExp(`^${SHEET.computed}`); // by a spreadsheet, unless an apostrophe stands before it
  const bare = (text) => (computed.test(text) ? `'${text}` : text);
  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const text = SHEET.rows.map((row) => row.map(bare).map(cell).join(",") + "\n").join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
  link.download = SHEET.file;
  link.click();
  URL.revokeObjectURL(link.href);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const number = /^[0-9]$/.test(event.key) ? Number(event.key) : -1;
  if (event.key === "j") go(at + 1);
  else if (event.key === "k") go(at - 1);
  else if (event.key === "s") save();
  else if (number === 0) label("");
  else if (number > 0 && number <= SHEET.grades.length) label(SHEET.grades[number - 1]);
});
document.getElementById("save").addEventListener("click", save);
for (const [n, grade] of SHEET.grades.entries())
  add(document.getElementById("grades"), "button", `${n + 1} ${SHEET.shown[n]}`).addEventListener("click", () => label(grade));
recall();
show();
