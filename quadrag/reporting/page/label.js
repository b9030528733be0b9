// Label one item after the other. Every choice is on the server's record before the next item is shown.

const { items, choices, correct } = JSON.parse(byId("items").textContent);
let place = Math.max(0, items.findIndex((item) => !item.choice));
let busy = false;

function show() {
  const item = items[place];
  byId("note").textContent = item.note;
  byId("fields").replaceChildren(...item.fields.map(([name, label, text]) => make("label", {}, label, field(name, text))));
  byId("passages").replaceChildren(...item.passages.map(([text, places]) => make("li", { class: "text" }, ...marked(text, places))));
  edit(false);
  report();
  byId("work").dataset.item = item.id;
}

function field(name, text) {
  const rows = Math.min(8, text.split("\n").length + Math.floor(text.length / 60));
  const area = make("textarea", { name, rows });
  area.value = text;
  return area;
}

function edit(open) {
  for (const area of byId("fields").querySelectorAll("textarea")) area.readOnly = !open;
  byId("save").hidden = !open;
  if (open) byId("fields").querySelector("textarea").focus();
}

function report() {
  const done = items.filter((item) => item.choice).length;
  byId("progress").textContent = WORDS.progress.replace(/{(\d)}/g, (_, at) => [place + 1, items.length, done][at]);
  for (const button of byId("choices").querySelectorAll("[value]")) button.setAttribute("aria-pressed", button.value === items[place].choice);
}

function turn(to) {
  if (busy || !items[to]) return;
  place = to;
  byId("fault").textContent = "";
  show();
}

/** Give the shown item a choice, with the texts where it is a correction; nothing else is done meanwhile. */
async function give(choice, texts) {
  if (busy) return;
  busy = true;
  const item = items[place];
  const body = JSON.stringify({ item: item.id, choice, texts });
  const told = await fetch("/choice", { method: "POST", headers: { "Content-Type": "application/json" }, body })
    .then((reply) => reply.json())
    .catch(() => ({ error: WORDS.ended }));
  busy = false;
  byId("fault").textContent = told.error ?? told.fault;
  if (told.error) return;
  item.choice = choice;
  report();
  if (told.fault) return;
  if (texts) for (const entry of item.fields) entry[2] = texts[entry[0]];
  if (choice === correct && !texts) edit(true);
  else turn(place + 1);
}

byId("fields").addEventListener("submit", (event) => event.preventDefault());
byId("choices").addEventListener("click", ({ target }) => target.value && give(target.value));
byId("save").addEventListener("click", () => give(correct, Object.fromEntries(new FormData(byId("fields")))));
byId("before").addEventListener("click", () => turn(place - 1));
byId("after").addEventListener("click", () => turn(place + 1));
byId("unlabelled").addEventListener("click", () => turn(items.findIndex((item) => !item.choice)));
document.addEventListener("keydown", (event) => {
  if (event.target.matches("textarea:not([readonly])") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (choices[event.key - 1]) give(choices[event.key - 1]);
  else if (event.key === "ArrowLeft") turn(place - 1);
  else if (event.key === "ArrowRight") turn(place + 1);
});
show();
