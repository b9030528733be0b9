// The answers of one run, or of several beside each other: the list, what it is narrowed to, the question that is open.
// Values come as text; their numbers are there to compare and to sort.

const STEP = 100; // questions added to the list at once

const unpacked = new Map();

/** Return a block of the page, which is unpacked once. */
function unpack(name) {
  if (!unpacked.has(name)) unpacked.set(name, inflate(byId(name).textContent));
  return unpacked.get(name);
}

async function inflate(text) {
  const bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(plain).text());
}

class Viewer {
  constructor(index) {
    this.index = index;
    this.runs = index.runs;
    this.found = [];
    this.open = null;
    const groups = (kind) => new Set(index.items.map((item) => item.groups[kind]));
    this.tasks = ["config", "split", "run"].filter((kind) => groups(kind).size > 1);
    const benchmarks = groups("benchmark").size > 1;
    const name = ({ benchmark, label }) => (benchmarks ? benchmark + WORDS.colon : "") + label;
    byId("metric").append(...index.metrics.map((metric, at) => make("option", { value: at }, name(metric))));
    byId("metric").addEventListener("change", () => this.choose());
    for (const id of ["which", "group"]) byId(id).addEventListener("change", () => this.filter());
    byId("search").addEventListener("focus", () => this.readTexts()); // read while the first word is typed
    byId("search").addEventListener("input", () => this.filter());
    byId("more").addEventListener("click", () => this.extend());
    byId("list").addEventListener("click", (event) => {
      const entry = event.target.closest("[data-place]");
      if (entry) location.hash = `item=${entry.dataset.place}`;
    });
    window.addEventListener("hashchange", () => this.look());
  }

  /** Take the chosen metric: its questions, and the kinds and groups of them that there are. */
  choose() {
    const { metrics, items } = this.index;
    this.metric = metrics[Number(byId("metric").value)];
    this.at = metrics.filter(({ benchmark }) => benchmark === this.metric.benchmark).indexOf(this.metric);
    this.items = items.filter(({ groups }) => groups.benchmark === this.metric.benchmark);
    const kinds = Object.keys(this.tests()).map((kind) => [kind, this.items.filter(this.tests()[kind]).length]);
    const offered = kinds.filter(([, count]) => count);
    const options = offered.map(([kind, count]) => make("option", { value: kind }, `${WORDS[kind]} · ${count}`));
    byId("which").replaceChildren(...options);
    const links = offered.slice(1).map(([kind, count]) => make("a", { href: "#answers", "data-which": kind }, `${WORDS[kind]} · ${count}`));
    for (const link of links) link.addEventListener("click", () => this.filter((byId("which").value = link.dataset.which)));
    byId("links").replaceChildren(...links, make("a", { href: "#answers" }, WORDS.answers));
    this.offerGroups();
    return this.filter();
  }

  /** Offer every group of the questions that does not hold all of them. */
  offerGroups() {
    const groups = new Map();
    for (const item of this.items)
      for (const [name, value] of Object.entries(item.groups)) groups.set(name, (groups.get(name) ?? new Set()).add(value));
    byId("group").replaceChildren(make("option", { value: "" }, WORDS.all));
    for (const [name, values] of groups) {
      if (values.size < 2) continue;
      const options = [...values].sort().map((value) => make("option", { value: `${name}:${value}` }, value));
      byId("group").append(make("optgroup", { label: name }, ...options));
    }
  }

  /** Return the tests of the kinds of questions that the metric tells apart, by name. */
  tests() {
    const { best, sign, unfit } = this.metric;
    const known = ({ values }) => values.map((run) => run[this.at] ?? null).filter((value) => value !== null);
    const change = (item) => {
      const [before, after = before] = known(item);
      return (after - before) * sign || 0;
    };
    this.change = change;
    this.worst = (item) => Math.min(...known(item).map((value) => value * (sign || 1)));
    return {
      all: () => true,
      ...(sign && best !== null && { wrong: (item) => known(item).some((value) => value !== best) }),
      unscored: (item) => item.failed || known(item).length < item.there.filter(Boolean).length,
      ...(this.runs.length > 1 && { changed: (item) => new Set(known(item)).size > 1 }),
      ...(this.runs.length === 2 && sign && !unfit && { won: (item) => change(item) > 0, lost: (item) => change(item) < 0 }),
    };
  }

  /** Show what the controls ask for: of wrong answers the worst first, of changed ones the largest change. */
  async filter() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const texts = words.length ? await this.readTexts() : null;
    if (turn !== this.turn) return; // a later one is on its way
    const kind = byId("which").value;
    const test = this.tests()[kind];
    const group = byId("group").value;
    const within = ({ groups }) => !group || Object.entries(groups).some(([name, value]) => `${name}:${value}` === group);
    const holds = (item) => !texts || words.every((word) => texts.get(item).includes(word));
    this.found = this.items.filter((item) => test(item) && within(item) && holds(item));
    const order = { wrong: this.worst, changed: (item) => -Math.abs(this.change(item)) };
    order.won = order.lost = order.changed;
    const key = order[kind];
    const keys = new Map(key && this.found.map((item) => [item, key(item)]));
    if (key) this.found.sort((one, other) => keys.get(one) - keys.get(other) || 0);
    byId("list").replaceChildren();
    this.extend();
    byId("count").textContent = this.found.length
      ? WORDS.count.replace("{0}", this.found.length).replace("{1}", this.items.length)
      : WORDS.unfound;
  }

  /** Return the texts of all questions, answers and gold, in small letters. */
  readTexts() {
    return (this.texts ??= (async () => {
      const blocks = [];
      for (let at = 0; byId(`items-${at}`); at++) blocks.push(unpack(`items-${at}`));
      const details = (await Promise.all(blocks)).flat();
      const text = ({ place, question, gold, runs }) => [place, question, ...gold, ...runs.map((run) => run?.answer ?? "")].join("\n");
      return new Map(details.map((detail, at) => [this.index.items[at], text(detail).toLowerCase()]));
    })());
  }

  /** Add entries to the list. */
  extend() {
    const shown = byId("list").children.length;
    byId("list").append(...this.found.slice(shown, shown + STEP).map((item) => this.entry(item)));
    byId("more").hidden = byId("list").children.length >= this.found.length;
  }

  entry(item) {
    const { best, worst } = this.metric;
    const answers = item.answers.map((answer, run) => {
      const value = item.values[run][this.at] ?? null;
      const kind = value === null ? "" : value === best ? "right" : value === worst ? "wrong" : "";
      const name = this.runs.length > 1 ? this.runs[run] + WORDS.colon : "";
      return make("span", { class: "answer" }, make("span", { class: `verdict ${kind}` }, item.texts[run][this.at]), name + answer);
    });
    const task = this.tasks.map((kind) => item.groups[kind]).join(" ");
    const question = make("b", {}, item.question, make("small", {}, task));
    const current = item.place === this.open ? { "aria-current": "true" } : {};
    return make("li", {}, make("button", { type: "button", "data-place": item.place, ...current }, question, ...answers));
  }

  /** Open the question that the address names, or close the one that is open. */
  async look() {
    const place = location.hash.startsWith("#item=") ? location.hash.slice(6) : null;
    const at = this.index.items.findIndex((item) => item.place === place);
    if (place && at < 0) byId("count").textContent = WORDS.unknown; // an address of another page
    this.open = at < 0 ? null : place;
    document.body.classList.toggle("opened", this.open !== null);
    for (const button of byId("list").querySelectorAll("button"))
      if (button.dataset.place === this.open) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    byId("item").replaceChildren();
    if (at < 0) return;
    const take = async (kind, number) => {
      const size = this.index.sizes[kind];
      return (await unpack(`${kind}-${Math.floor(number / size)}`))[number % size];
    };
    const detail = await take("items", at);
    const passages = new Map();
    for (const [number] of [...detail.passages, ...detail.runs.flatMap((run) => run?.passages ?? [])])
      passages.set(number, await take("passages", number));
    if (this.open !== place) return;
    byId("item").replaceChildren(...makeItem(this.runs, detail, passages));
    byId("item").focus({ preventScroll: true });
    byId("item").scrollIntoView({ block: "nearest" });
    byId("item").scrollTop = 0;
  }
}

/** Make all that belongs to a question. */
function makeItem(runs, detail, passages) {
  const { place, history, question, wanted, gold } = detail;
  const sides = detail.runs.map((run, at) =>
    make("section", {}, ...(runs.length > 1 ? [make("h4", {}, runs[at])] : []), ...(run ? makeSide(run, passages) : [make("p", {}, WORDS.absent)])),
  );
  const shared = detail.passages.length ? makePassages(detail, passages) : [];
  return [
    make("a", { class: "back", href: "#answers" }, WORDS.back),
    make("p", { class: "place" }, place),
    ...history.map((turn) => make("p", { class: "place" }, turn)),
    make("h3", {}, question),
    ...(wanted ? [make("p", {}, wanted)] : []),
    make("h4", {}, WORDS.gold),
    make("p", { class: "text" }, gold.join("\n") || WORDS.nothing),
    make("div", { class: runs.length > 1 ? "sides" : "" }, ...sides),
    ...shared,
  ];
}

/** Make what one run has of a question: answer, values, the judge's words, its own passages. */
function makeSide(run, passages) {
  const row = ([label, text, why]) => make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, text), make("td", {}, why));
  const said = run.verdicts.map(([name, reply]) => make("blockquote", {}, make("cite", {}, name), reply));
  return [
    make("h4", {}, WORDS.answer),
    make("p", { class: "text" }, ...marked(run.answer, run.marks), ...(run.failed ? [make("em", {}, ` ${run.failed}`)] : run.answer ? [] : [WORDS.empty])),
    ...(run.scored ? [make("h4", {}, WORDS.scored), make("p", { class: "text" }, run.scored)] : []),
    make("table", { class: "values" }, make("tbody", {}, ...run.values.map(row))),
    ...(said.length ? [make("h4", {}, WORDS.judge), ...said] : []),
    ...(run.found ? [make("p", {}, run.found)] : []),
    ...makePassages(run, passages),
  ];
}

function makePassages({ passages: shown }, passages) {
  const entries = shown.map(([number, head, places]) => {
    const text = passages.get(number).filter(Boolean).join(" ");
    return make("li", {}, make("p", { class: "place" }, head), make("p", { class: "text" }, ...marked(text, places)));
  });
  return entries.length ? [make("h4", {}, WORDS.passages), make("ol", { class: "passages" }, ...entries)] : [];
}

if (byId("index"))
  unpack("index").then(async (index) => {
    const viewer = new Viewer(index);
    byId("answers").hidden = false;
    await viewer.choose();
    await viewer.look();
    document.documentElement.dataset.ready = "yes";
  });
