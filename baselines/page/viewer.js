"use strict";
// The answers of one run, or of two beside each other: search, filter, sort, open. Texts only ever become text nodes.

const WORDS = JSON.parse(document.getElementById("words").textContent);
const STEP = 100; // entries added to the list at once
const MARKED = 1500; // words of a text above which nothing is marked

const blocks = new Map();

/** Return a block of the page, unpacked; each is unpacked once. */
function unpack(name) {
  if (!blocks.has(name)) blocks.set(name, read(name));
  return blocks.get(name);
}

async function read(name) {
  const [encoding, text] = document.getElementById(name).textContent.split(" ");
  const bytes = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(new TextDecoder(encoding).decode(await new Response(plain).arrayBuffer()));
}

/** Make an element with attributes and children; a child that is no element becomes a text node. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

/** Return the whole of an answer, whose beginning stands in the list. */
const answerOf = (item, detail, run) => (item.answers[run] ?? "") + (detail.runs[run]?.rest ?? "");

const show = (value) => (value === null ? "–" : String(Math.round(value * 10000) / 10000));

class Viewer {
  constructor(index) {
    this.index = index;
    this.two = index.runs.length > 1;
    this.texts = {}; // lower-case texts to search, by scope
    this.found = [];
    this.shown = 0;
    this.open = -1;
    for (const name of ["search", "deep", "metric", "which", "group", "sort"]) {
      this[name] = document.getElementById(name);
      this[name].addEventListener(name === "search" ? "input" : "change", () => {
        if (name === "which") this.chooseLacking();
        this.filter();
      });
    }
    const tasks = index.items.map((item) => this.task(item));
    this.several = new Set(tasks).size > 1;
    this.list = document.getElementById("list");
    this.item = document.getElementById("item");
    index.metrics.forEach((metric, at) => this.metric.append(make("option", { value: at }, metric.label)));
    this.offerGroups();
    const several = { "[data-several]": this.two, "[data-two]": index.runs.length === 2 };
    for (const [which, wanted] of Object.entries(several))
      if (!wanted) for (const option of document.querySelectorAll(which)) option.remove();
    this.list.addEventListener("click", (event) => {
      const entry = event.target.closest("[data-at]");
      if (entry) this.go(Number(entry.dataset.at));
    });
    if (this.two && index.items.some((item) => this.disagree(item))) this.which.value = "disagree";
    document.getElementById("more").addEventListener("click", () => this.extend());
    document.addEventListener("keydown", (event) => this.press(event));
    window.addEventListener("hashchange", () => this.follow());
  }

  /** Offer every group of questions that does not hold all of them. */
  offerGroups() {
    const values = new Map();
    for (const { groups } of this.index.items)
      for (const [name, value] of Object.entries(groups)) {
        if (!values.has(name)) values.set(name, new Set());
        values.get(name).add(value);
      }
    for (const [name, found] of values) {
      if (found.size < 2) continue;
      const group = make("optgroup", { label: name });
      for (const value of [...found].sort())
        group.append(make("option", { value: JSON.stringify([name, value]) }, value));
      this.group.append(group);
    }
  }

  /** Return an item's value of the chosen metric. */
  value(item, run = 0) {
    return item.values[run]?.[Number(this.metric.value)] ?? null;
  }

  /** Say whether an item is right by the chosen metric: true, false, or null where it has no value. */
  right(item, run = 0) {
    const { sign, best } = this.index.metrics[Number(this.metric.value)];
    const value = this.value(item, run);
    return value === null ? null : sign === 0 || value === best;
  }

  /** Say whether a run's answer to an item has no value of a metric. */
  lacks(item, run, metric) {
    return item.answers[run] !== null && item.values[run][metric] === null;
  }

  /** Where answers without a value are asked for and the chosen metric has none, choose the first that has. */
  chooseLacking() {
    const { items, metrics, runs } = this.index;
    const some = (metric) => items.some((item) => runs.some((_, run) => this.lacks(item, run, metric)));
    if (this.which.value !== "unscored" || some(Number(this.metric.value))) return;
    const first = metrics.findIndex((_, metric) => some(metric));
    if (first >= 0) this.metric.value = first;
  }

  /** Return how much better the second run is than the first. */
  change(item) {
    const { sign } = this.index.metrics[Number(this.metric.value)];
    const [before, after] = [this.value(item, 0), this.value(item, 1)];
    return before === null || after === null ? 0 : (after - before) * (sign || 1);
  }

  /** Say whether runs have other values of an item than the first. */
  disagree(item) {
    return item.answers.some((answer, run) => answer !== null && this.value(item, run) !== this.value(item));
  }

  /** Say whether an item is of the kind that is to be shown. */
  passes(item) {
    switch (this.which.value) {
      case "wrong":
        return this.index.runs.some((_, run) => this.right(item, run) === false);
      case "right":
        return this.index.runs.every((_, run) => this.right(item, run) === true);
      case "unscored":
        return this.index.runs.some((_, run) => this.lacks(item, run, Number(this.metric.value)));
      case "disagree":
        return this.disagree(item);
      case "won":
        return this.change(item) > 0;
      case "lost":
        return this.change(item) < 0;
      default:
        return true;
    }
  }

  /** Return the texts to search, unpacked at the first search. */
  async searched(deep) {
    const { items, sizes } = this.index;
    if (!this.texts.items) {
      this.count(WORDS.searching);
      const all = [];
      for (let at = 0; at < items.length; at += sizes.items) all.push(unpack(`items-${at / sizes.items}`));
      this.details = (await Promise.all(all)).flat();
      this.texts.items = this.details.map((one, at) =>
        [items[at].id, items[at].question + one.rest, ...one.gold, ...one.runs.map((_, run) => answerOf(items[at], one, run))]
          .join("\n")
          .toLowerCase(),
      );
    }
    if (deep && !this.texts.passages) {
      this.count(WORDS.searching);
      const all = [];
      for (let at = 0; document.getElementById(`passages-${at}`); at++) all.push(unpack(`passages-${at}`));
      this.texts.passages = (await Promise.all(all)).flat().map((one) => one.join("\n").toLowerCase());
    }
    return this.texts;
  }

  /** Return what a search finds, as a test of an item's number. */
  async searching() {
    const wanted = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!wanted.length) return () => true;
    const deep = this.deep.checked;
    const texts = await this.searched(deep);
    const holds = (text) => wanted.every((word) => text.includes(word));
    if (!deep) return (at) => holds(texts.items[at]);
    const hits = texts.passages.map(holds);
    return (at) =>
      holds(texts.items[at]) || this.details[at].runs.some((run) => run?.passages.some(([number]) => hits[number]));
  }

  async filter() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const finds = await this.searching();
    if (turn !== this.turn) return; // a later one is on its way
    const group = this.group.value && JSON.parse(this.group.value);
    const { items } = this.index;
    this.found = [...items.keys()].filter(
      (at) => this.passes(items[at]) && (!group || items[at].groups[group[0]] === group[1]) && finds(at),
    );
    this.order();
    this.list.replaceChildren();
    this.shown = 0;
    this.extend();
    this.count(WORDS.count.replace("{0}", this.found.length).replace("{1}", items.length));
  }

  order() {
    const { items, metrics } = this.index;
    const sign = metrics[Number(this.metric.value)]?.sign || 1;
    const worst = (at) => Math.min(...this.index.runs.map((_, run) => (this.value(items[at], run) ?? Infinity) * sign));
    const keys = { worst, change: (at) => -Math.abs(this.change(items[at])) };
    const key = keys[this.sort.value];
    if (key) this.found.sort((a, b) => key(a) - key(b) || a - b);
  }

  count(text) {
    document.getElementById("count").textContent = text;
  }

  /** Add entries to the list. */
  extend() {
    const next = this.found.slice(this.shown, this.shown + STEP);
    this.list.append(...next.map((at) => this.entry(at)));
    this.shown += next.length;
    document.getElementById("more").hidden = this.shown >= this.found.length;
  }

  entry(at) {
    const item = this.index.items[at];
    const answers = item.answers.map((answer, run) =>
      make(
        "span",
        { class: "answer" },
        this.verdict(item, run),
        this.two ? `${String.fromCharCode(65 + run)}: ` : "",
        answer === null ? WORDS.absent : answer || WORDS.empty,
      ),
    );
    const task = this.several ? make("span", { class: "task" }, this.task(item)) : "";
    const button = make("button", { type: "button", "data-at": at }, make("b", {}, item.question, task), ...answers);
    if (at === this.open) button.setAttribute("aria-current", "true");
    return make("li", {}, button);
  }

  /** Name the benchmark, config and split of an item. */
  task({ groups: { benchmark, config, split } }) {
    return [benchmark, config, split].join(" ");
  }

  /** Make the sign of a value: that it is the best, the worst, or none. */
  verdict(item, run) {
    const value = this.value(item, run);
    const { sign, best, worst } = this.index.metrics[Number(this.metric.value)] ?? {};
    const kind = value === null ? "none" : !sign ? "" : value === best ? "right" : value === worst ? "wrong" : "";
    return make("span", { class: `verdict ${kind}` }, show(value), make("span", { class: "unseen" }, ` ${WORDS[kind] ?? ""} `));
  }

  /** Open an item, and put its place into the address. */
  go(at) {
    location.hash = "item=" + this.index.items[at].place;
  }

  /** Open the item that the address names. */
  async follow() {
    if (!location.hash.startsWith("#item=")) return;
    const at = this.index.items.findIndex(({ place }) => place === location.hash.slice(6));
    if (at < 0) return this.count(WORDS.unknown); // an address of another page
    this.open = at;
    for (const button of this.list.querySelectorAll("button"))
      Number(button.dataset.at) === at ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current");
    const { sizes } = this.index;
    const block = await unpack(`items-${Math.floor(at / sizes.items)}`);
    const detail = block[at % sizes.items];
    const numbers = new Set(detail.runs.flatMap((run) => run?.passages.map(([number]) => number) ?? []));
    const passages = new Map();
    for (const number of numbers) {
      const kept = await unpack(`passages-${Math.floor(number / sizes.passages)}`);
      passages.set(number, kept[number % sizes.passages]);
    }
    if (at !== this.open) return;
    this.item.replaceChildren(...this.whole(at, detail, passages));
    document.body.classList.add("opened");
    this.item.focus({ preventScroll: true });
    this.item.scrollIntoView({ block: "nearest" });
    this.item.scrollTop = 0;
  }

  close() {
    document.body.classList.remove("opened");
    history.replaceState(null, "", location.pathname + location.search + "#answers");
    this.list.querySelector(`[data-at="${this.open}"]`)?.focus();
  }

  /** Make the whole of an item. */
  whole(at, detail, passages) {
    const item = this.index.items[at];
    const place = [...Object.values(item.groups), item.id, item.sample ? `${WORDS.sample} ${item.sample}` : ""];
    const back = make("button", { type: "button", class: "back" }, WORDS.back);
    back.addEventListener("click", () => this.close());
    const turns = detail.history.map(([asked, told]) => make("p", { class: "turn" }, `${asked} / ${told ?? ""}`));
    const gold = detail.gold.join("\n");
    return [
      back,
      make("p", { class: "place" }, place.filter(Boolean).join(" · ")),
      ...turns,
      make("h3", {}, item.question + detail.rest),
      make("h4", {}, WORDS.gold),
      make("p", { class: "text" }, ...(detail.gold.length ? marked(gold, answerOf(item, detail, 0), "missing") : [WORDS.nothing])),
      make("div", { class: this.two ? "sides" : "" }, ...detail.runs.map((_, side) => this.side(item, detail, side, gold, passages))),
    ];
  }

  /** Make what one run has of an item: answer, values, the judge's words, passages. */
  side(item, detail, side, gold, passages) {
    const run = detail.runs[side];
    const text = answerOf(item, detail, side);
    const head = this.two ? [make("h4", {}, `${String.fromCharCode(65 + side)}: ${this.index.runs[side]}`)] : [];
    if (run === null) return make("section", {}, ...head, make("p", {}, WORDS.absent));
    const answer = text
      ? make("p", { class: "text" }, ...marked(text, gold, "shared"))
      : make("p", { class: "text faint" }, run.failure || WORDS.empty);
    const other = side > 0 && item.answers[0] !== null ? item.values[0] : null;
    const values = this.index.metrics.flatMap(({ name, label, sign }, at) => {
      const value = item.values[side][at];
      if (value === null && !run.reasons[name]) return []; // a metric of other questions
      const changed = other && value !== other[at];
      const better = changed && sign && value !== null && other[at] !== null ? (value - other[at]) * sign : 0;
      const arrow = changed ? (better > 0 ? " ▲" : better < 0 ? " ▼" : " ≠") : "";
      return make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, show(value) + arrow), make("td", {}, run.reasons[name] ?? ""));
    });
    const said = Object.entries(run.verdicts).flatMap(([name, replies]) =>
      replies.map((reply) => make("blockquote", {}, make("cite", {}, name), reply)),
    );
    const found = run.passages.map(([number, score, relevant], rank) => {
      const [id, title, text] = passages.get(number);
      const told = [`${rank + 1}`, id, score === null ? "" : `${WORDS.score} ${show(score)}`].filter(Boolean).join(" · ");
      const head = make("p", { class: "place" }, told, relevant ? make("b", { class: "gold" }, WORDS.relevant) : "");
      return make("li", {}, head, make("p", { class: "text" }, title ? make("b", {}, `${title} `) : "", text));
    });
    return make(
      "section",
      {},
      ...head,
      make("h4", {}, WORDS.answer),
      answer,
      make("table", { class: "values" }, make("tbody", {}, ...values)),
      ...(said.length ? [make("h4", {}, WORDS.judge), ...said] : []),
      make("h4", {}, `${WORDS.passages} (${found.length})`),
      make("ol", { class: "passages" }, ...found),
    );
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.open >= 0) return this.close();
    if (event.target.closest("input, select, textarea")) return;
    const steps = { j: 1, k: -1 };
    if (event.key === "/") {
      event.preventDefault();
      this.search.focus();
    } else if (event.key in steps) {
      const at = this.found.indexOf(this.open);
      const next = this.found[at < 0 ? 0 : at + steps[event.key]];
      if (next !== undefined) this.go(next);
    }
  }
}

/** Cut a text into words, single Chinese characters, and what is between them. */
function cut(text) {
  return text.match(/\p{Script=Han}|[\p{L}\p{N}]+|[^\p{L}\p{N}]+/gu) ?? [];
}

const isWord = (token) => /[\p{L}\p{N}]/u.test(token);

/** Return a text in parts: `shared` marks the words that stand in another in the same order, `missing` those that do not. */
function marked(text, other, kind) {
  const ours = cut(text);
  const words = ours.map((token, at) => [token.toLowerCase(), at]).filter(([token]) => isWord(token));
  const theirs = cut(other).filter(isWord).map((token) => token.toLowerCase());
  if (!theirs.length || words.length > MARKED || theirs.length > MARKED) return [text];
  const same = new Set(align(words.map(([token]) => token), theirs).map((place) => words[place][1]));
  const parts = [];
  let open = null;
  ours.forEach((token, at) => {
    const mark = isWord(token) && same.has(at) === (kind === "shared");
    if (mark && open) open.textContent += token;
    else if (mark) parts.push((open = make("mark", { class: kind }, token)));
    else {
      open = isWord(token) ? null : /^\s+$/.test(token) ? open : null;
      if (open) open.textContent += token;
      else parts.push(token);
    }
  });
  return parts;
}

/** Return the places in `a` of a longest common subsequence with `b`. */
function align(a, b) {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i * width + j] =
        a[i] === b[j]
          ? table[(i + 1) * width + j + 1] + 1
          : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  const places = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; )
    if (a[i] === b[j]) {
      places.push(i);
      i++;
      j++;
    } else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i++;
    else j++;
  return places;
}

/** Light, dark, or as the system has it; kept for the next page where the browser keeps anything. */
function chooseTheme() {
  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
}

chooseTheme();
if (document.getElementById("index"))
  unpack("index").then(async (index) => {
    const viewer = (window.viewer = new Viewer(index));
    document.getElementById("answers").hidden = false;
    await viewer.filter();
    await viewer.follow();
    document.documentElement.dataset.ready = "yes";
  });
