"use strict";
// Grade one question after the other. Everything is on the server's record; texts only ever become text nodes.

const at = (id) => document.getElementById(id);
const WORDS = JSON.parse(at("words").textContent);
const state = { who: "", items: [], place: 0, item: null, busy: false };

async function ask(path, body) {
  const posted = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let found;
  try {
    const reply = await fetch(path, posted);
    found = await reply.json();
  } catch {
    found = { error: WORDS.ended };
  }
  at("fault").textContent = found.error ?? found.fault ?? "";
  return found.error ? null : found;
}

/** Return a function that does nothing while another one is at work: what is graded is always what is shown. */
const alone = (act) => async (...given) => {
  if (state.busy) return;
  state.busy = true;
  try {
    await act(...given);
  } finally {
    state.busy = false;
  }
};

const query = (more = {}) => new URLSearchParams({ annotator: state.who, ...more });

/** Begin with an annotator, whose name stands in the address, so that a reload comes back here. */
async function begin(name) {
  state.who = name;
  const found = await ask(`/items?${query()}`);
  if (!found) return;
  state.who = found.annotator;
  state.items = found.items;
  if (found.annotator) location.hash = encodeURIComponent(found.annotator);
  at("dataset").textContent = found.dataset;
  at("asks").replaceChildren(...found.asks.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  at("who").hidden = true;
  at("work").hidden = false;
  state.place = Math.max(0, state.items.findIndex((item) => !item.grade));
  await show();
}

async function show() {
  const { id } = state.items[state.place];
  const found = await ask(`/item?${query({ item: id })}`);
  if (!found) return;
  state.item = found;
  at("cell").textContent = found.cell ?? "";
  at("source").textContent = found.source || "–";
  at("fields").replaceChildren(...Object.keys(found.fields).map(field));
  at("passages").replaceChildren(...found.passages.map(passage));
  edit(false);
  tell();
  at("work").dataset.item = id;
}

function field(name) {
  const label = document.createElement("label");
  const text = document.createElement("textarea");
  const [, plain, number] = name.match(/^(.*?)(?:_(\d+))?$/); // a second answer, a round of a conversation
  label.append([WORDS[plain], number, state.item.several.includes(name) && WORDS.several].filter(Boolean).join(" "));
  text.name = name;
  text.value = state.item.correction[name] ?? state.item.fields[name];
  text.rows = Math.min(8, text.value.split("\n").length + Math.floor(text.value.length / 60));
  label.append(text);
  return label;
}

/** A passage with every answer in it marked. */
function passage(text) {
  const line = document.createElement("li");
  const marks = state.item.marks.filter(Boolean).toSorted((one, other) => other.length - one.length);
  const escaped = marks.map((mark) => mark.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const parts = escaped.length ? text.split(new RegExp(`(${escaped.join("|")})`, "i")) : [text];
  parts.forEach((part, number) => {
    line.append(number % 2 ? Object.assign(document.createElement("mark"), { textContent: part }) : part);
  });
  return line;
}

function edit(open) {
  for (const text of at("fields").querySelectorAll("textarea")) text.readOnly = !open;
  at("save").hidden = !open;
  if (open) at("fields").querySelector("textarea").focus();
}

function tell() {
  const done = state.items.filter((item) => item.grade).length;
  const counts = [state.who, state.place + 1, state.items.length, done];
  at("progress").textContent = WORDS.progress.replace(/{(\d)}/g, (_, number) => counts[number]);
  const { grade } = state.items[state.place];
  for (const button of at("grades").querySelectorAll("[value]")) button.setAttribute("aria-pressed", WORDS.grades[button.value - 1] === grade);
}

async function turn(by) {
  const place = state.place + by;
  if (place < 0 || place >= state.items.length) return;
  state.place = place;
  await show();
}

/** Give a grade by its place, with the texts where it is a correction. What may be corrected stays here. */
const give = alone(async (place, texts) => {
  const grade = WORDS.grades[place - 1];
  const item = state.items[state.place];
  const found = await ask("/grade", { annotator: state.who, item: item.id, grade, texts });
  if (!found) return;
  item.grade = grade;
  tell();
  if (grade === state.item.mend && !texts) return edit(true);
  if (!found.fault) await turn(1);
});

const go = alone(turn);
const save = () => give(WORDS.grades.indexOf(state.item.mend) + 1, Object.fromEntries(new FormData(at("fields"))));

at("who").addEventListener("submit", (event) => {
  event.preventDefault();
  begin(at("annotator").value);
});
at("fields").addEventListener("submit", (event) => event.preventDefault());
for (const button of at("grades").querySelectorAll("[value]")) button.addEventListener("click", () => give(Number(button.value)));
at("save").addEventListener("click", save);
at("back").addEventListener("click", () => go(-1));
at("next").addEventListener("click", () => go(1));
at("open").addEventListener("click", () => {
  const next = state.items.findIndex((item) => !item.grade);
  if (next >= 0) go(next - state.place);
});
document.addEventListener("keydown", (event) => {
  if (at("work").hidden) return;
  if (event.key === "Enter" && event.ctrlKey && !at("save").hidden) return save();
  const writing = event.target.matches("input, textarea:not([readonly])");
  if (writing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^[1-9]$/.test(event.key) && WORDS.grades.length >= Number(event.key)) {
    event.preventDefault();
    give(Number(event.key));
  } else if (event.key === "ArrowLeft") go(-1);
  else if (event.key === "ArrowRight") go(1);
});
if (at("who").hidden) begin("");
else if (location.hash.length > 1) begin(decodeURIComponent(location.hash.slice(1)));
