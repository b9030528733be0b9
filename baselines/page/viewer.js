// The answers of one run, or of several beside each other: the list, its controls, what is opened, keys and addresses.

const STEP = 100; // answers added to the list at once

class Viewer {
  constructor(index) {
    this.index = index;
    this.values = new Values(index);
    this.texts = new Search(index, (word) => this.count(word));
    this.several = index.runs.length > 1;
    this.step = Math.ceil(STEP / index.runs.length); // questions, each with an answer of every run
    this.found = [];
    this.shown = 0;
    this.open = -1;
    const controls = ["search", "deep", "benchmark", "metric", "which", "group", "sort"];
    for (const name of controls) this[name] = document.getElementById(name);
    this.metric.addEventListener("change", () => this.suit());
    for (const name of controls) this[name].addEventListener(name === "search" ? "input" : "change", () => this.change());
    this.list = document.getElementById("list");
    this.item = document.getElementById("item");
    const { benchmarks } = this.values;
    this.benchmark.append(...benchmarks.map((name) => make("option", {}, name)));
    if (benchmarks.length < 2) this.benchmark.parentElement.remove();
    this.offer();
    const choices = { "[data-several]": this.several, "[data-two]": index.runs.length === 2 };
    for (const [which, wanted] of Object.entries(choices))
      if (!wanted) for (const option of document.querySelectorAll(which)) option.remove();
    this.list.addEventListener("click", (event) => {
      const entry = event.target.closest("[data-at]");
      if (entry) this.go(Number(entry.dataset.at));
    });
    if (this.several && this.values.disputed()) this.which.value = "disagree";
    if (!index.items.some(this.values.passing("failed"))) this.which.querySelector("[value=failed]").remove();
    this.usual = this.asked();
    for (const link of document.querySelectorAll("[data-which]")) this.leadTo(link, link.dataset.which, "change");
    const links = benchmarks.flatMap((benchmark) => this.lead(benchmark));
    document.querySelector("nav").prepend(...links);
    this.values.choose(benchmarks[0]);
    this.suit();
    document.getElementById("more").addEventListener("click", () => this.extend());
    document.addEventListener("keydown", (event) => this.press(event));
    window.addEventListener("hashchange", () => this.follow());
  }

  /** Make the links from the top of the page to the answers of a benchmark that are wrong, or differ, and that failed. */
  lead(benchmark) {
    const { values } = this;
    values.choose(benchmark);
    const { label, sign } = values.metric;
    const [which, count] = this.several ? ["disagree", values.disputed()] : ["wrong", values.wrong()];
    const failed = values.items.filter(values.passing("failed")).length;
    const named = values.benchmarks.length > 1 ? benchmark + WORDS.colon : "";
    const link = (words, ...shown) => this.leadTo(make("a", {}, named + words), ...shown, benchmark);
    const links = [];
    if (this.index.runs.length !== 2 && count) links.push(link(tellOf(`${values.word(which)} · ${count}`, label), which, "worst"));
    else if (!this.several && sign) links.push(link(tellOf(WORDS.worst, label), "all", "worst"));
    if (failed) links.push(link(`${WORDS.failed} · ${failed}`, "failed", "order"));
    return links;
  }

  /** Make a link show the answers of a kind, in an order, by the first metric of a benchmark. */
  leadTo(link, show, order, benchmark = this.values.benchmark) {
    link.href = writeAddress({ ...this.usual, show, order, benchmark }, this.usual);
    link.addEventListener("click", () => document.getElementById("answers").scrollIntoView());
    return link;
  }

  /** Say what the controls ask for, as the address has it. */
  asked() {
    const own = this.values.at !== this.values.metrics[0];
    return {
      benchmark: this.benchmark.value,
      show: this.which.value,
      metric: own ? this.values.metric.name : "",
      group: this.group.value,
      search: this.search.value,
      deep: this.deep.checked ? "yes" : "",
      order: this.sort.value,
    };
  }

  /** Set the controls to what an address asks for. */
  set(asked) {
    choose(this.benchmark, asked.benchmark);
    this.values.choose(this.benchmark.value);
    this.offer();
    choose(this.which, asked.show);
    choose(this.group, asked.group);
    choose(this.sort, asked.order);
    this.search.value = asked.search;
    this.deep.checked = asked.deep === "yes";
    const metric = this.values.metrics.findIndex((at) => this.index.metrics[at].name === asked.metric);
    this.metric.selectedIndex = Math.max(metric, 0);
    this.suit();
  }

  /** Show what was asked for by hand, and put it into the address. */
  async change() {
    await this.filter();
    this.write();
  }

  /** Put what is asked for into the address, unless a question is open, which stands there. */
  write() {
    if (!document.body.classList.contains("opened"))
      history.replaceState(null, "", writeAddress(this.asked(), this.usual));
  }

  /** Take the chosen metric, and offer in its words what it tells apart: without a better end none is right or worst. */
  suit() {
    const { values, several, which } = this;
    values.use(Number(this.metric.value));
    const { sign, best } = values.metric;
    const kinds = { wrong: best !== null && "in_some", right: best !== null && "in_all", won: true, lost: true };
    for (const [kind, runs] of Object.entries(kinds)) {
      const option = which.querySelector(`[value=${kind}]`);
      if (!option) continue;
      option.hidden = option.disabled = !sign || !runs;
      option.text = several && WORDS[runs] ? WORDS[runs].replace("{0}", values.word(kind)) : values.word(kind);
    }
    if (which.selectedOptions[0].disabled) which.value = "all";
    this.sort.querySelector("[value=worst]").text = sign ? WORDS.worst : WORDS.lowest;
  }

  /** Offer the metrics of the chosen benchmark, and every group of its questions that does not hold all of them. */
  offer() {
    const values = new Map();
    for (const { groups } of this.values.items)
      for (const [name, value] of Object.entries(groups)) {
        if (!values.has(name)) values.set(name, new Set());
        values.get(name).add(value);
      }
    this.tasks = ["config", "split"].filter((kind) => values.get(kind)?.size > 1);
    const metrics = this.values.metrics.map((at) => make("option", { value: at }, this.index.metrics[at].label));
    this.metric.replaceChildren(...metrics);
    this.group.replaceChildren(make("option", { value: "" }, WORDS.all));
    for (const [name, found] of values) {
      if (found.size < 2) continue;
      const group = make("optgroup", { label: name });
      for (const value of [...found].sort())
        group.append(make("option", { value: `${name}:${value}` }, value));
      this.group.append(group);
    }
  }

  /** Show what the controls ask for. */
  async filter() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const finds = await this.texts.finds(this.search.value, this.deep.checked);
    if (turn !== this.turn) return; // a later one is on its way
    if (this.benchmark.value !== this.values.benchmark) {
      this.values.choose(this.benchmark.value);
      this.offer();
      this.suit();
    }
    const group = this.group.value;
    const passes = this.values.passing(this.which.value);
    const within = ({ groups }) => !group || Object.entries(groups).some(([name, value]) => `${name}:${value}` === group);
    const { items } = this.index;
    const { benchmark } = this.values;
    const hits = [...items.keys()].filter((at) => items[at].groups.benchmark === benchmark && finds(at));
    const inside = hits.filter((at) => within(items[at]));
    this.found = inside.filter((at) => passes(items[at]));
    const key = this.values.key(this.sort.value);
    const mute = (at) => Number(!items[at].answers.some(Boolean)); // what was answered with nothing stands last
    if (key) this.found.sort((a, b) => key(items[a]) - key(items[b]) || mute(a) - mute(b) || a - b);
    this.list.replaceChildren();
    if (!this.found.length && this.open >= 0) {
      this.close(); // what is open was not found
      this.open = -1;
    }
    this.shown = 0;
    this.extend();
    this.tellNone(hits.length, inside.map((at) => items[at]));
    const told = WORDS.count.replace("{0}", this.found.length).replace("{1}", this.values.items.length);
    this.count([told, ...this.narrowed()].join(" · "));
  }

  /** Where nothing is listed, say so, and offer what the search found among all. */
  tellNone(hits, inside) {
    const { values } = this;
    const complete = this.which.value === "unscored" && !values.lacking(values.items, values.at);
    const all = () => this.offerOther(WORDS.hidden.replace("{0}", hits), () => (this.which.value = "all") && (this.group.value = ""));
    const told = complete ? this.tellComplete(inside) : [hits ? all() : WORDS.unfound];
    document.getElementById("none").replaceChildren(...(this.found.length ? [] : told));
  }

  /** Say that no answer lacks a value of the chosen metric, and offer those of which some do. */
  tellComplete(inside) {
    const { values } = this;
    const others = values.metrics.map((at) => [at, values.lacking(inside, at)]).filter(([, count]) => count);
    const buttons = others.map(([at, count]) =>
      this.offerOther(`${tellOf(WORDS.unscored, this.index.metrics[at].label)} · ${count}`, () => (this.metric.value = at)),
    );
    return [WORDS.complete.replace("{0}", () => values.metric.label), " ", ...buttons];
  }

  /** Make a button that sets the controls otherwise. */
  offerOther(words, set) {
    const button = make("button", { type: "button" }, words);
    button.addEventListener("click", async () => {
      set();
      this.suit();
      await this.change();
      this.list.querySelector("button")?.focus();
    });
    return button;
  }

  /** Name what keeps questions out of the list: their kind with the metric that decides it, and their group. */
  narrowed() {
    const { which, group } = this;
    const kind = which.value === "failed" ? WORDS.failed : tellOf(which.selectedOptions[0].text, this.values.metric.label);
    return [which.value !== "all" && kind, group.value && group.selectedOptions[0].text].filter(Boolean);
  }

  count(text) {
    document.getElementById("count").textContent = text;
  }

  /** Add entries to the list. */
  extend() {
    const next = this.found.slice(this.shown, this.shown + this.step);
    this.list.append(...next.map((at) => this.entry(at)));
    this.shown += next.length;
    document.getElementById("more").hidden = this.shown >= this.found.length;
  }

  entry(at) {
    const item = this.index.items[at];
    const { system } = item.groups;
    const named = (run) => (this.several ? this.index.called[run] : system);
    const answers = item.answers.map((answer, run) =>
      make(
        "span",
        { class: "answer" },
        this.verdict(item, run),
        named(run) ? named(run) + WORDS.colon : "",
        answer === null ? WORDS.absent : [item.failed[run], answer].filter(Boolean).join(WORDS.colon) || WORDS.empty,
      ),
    );
    const task = [...this.tasks.map((kind) => item.groups[kind]), this.several && system].filter(Boolean).join(" ");
    const button = make("button", { type: "button", "data-at": at }, make("b", {}, item.question, make("span", { class: "task" }, task)), ...answers);
    if (at === this.open) button.setAttribute("aria-current", "true");
    return make("li", {}, button);
  }

  /** Make the sign of a value: that it is the best, the worst, or none. */
  verdict(item, run) {
    const kind = this.values.kind(item, run);
    const told = make("span", { class: "unseen" }, ` ${kind && this.values.word(kind)} `);
    return make("span", { class: `verdict ${kind}` }, show(this.values.of(item, run), this.values.metric.scale), told);
  }

  /** Open an item, and put its place into the address. */
  go(at) {
    location.hash = "item=" + this.index.items[at].place;
  }

  /** Show what the address asks for. */
  async follow() {
    const { hash } = location;
    if (hash.startsWith("#item=")) return this.look(hash.slice(6));
    this.shut();
    const asked = readAddress(hash, this.usual);
    if (!asked || writeAddress(asked, this.usual) === writeAddress(this.asked(), this.usual)) return;
    this.set(asked);
    await this.filter();
    if (hash.length > 1) document.getElementById("answers").scrollIntoView();
  }

  /** Open the item of a place. */
  async look(named) {
    const at = this.index.items.findIndex(({ place }) => place === named);
    if (at < 0) return this.count(WORDS.unknown); // an address of another page
    this.open = at;
    const { benchmark } = this.index.items[at].groups;
    if (benchmark !== this.values.benchmark) {
      this.benchmark.value = benchmark;
      await this.filter();
    }
    for (const button of this.list.querySelectorAll("button"))
      Number(button.dataset.at) === at ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current");
    const whole = await readItem(this.index, at);
    if (at !== this.open) return;
    const back = make("button", { type: "button", class: "back" }, WORDS.back);
    back.addEventListener("click", () => this.close());
    this.item.replaceChildren(...makeItem(this.index, this.index.items[at], whole, back));
    document.body.classList.add("opened");
    this.item.focus({ preventScroll: true });
    this.item.scrollIntoView({ block: "nearest" });
    this.item.scrollTop = 0;
  }

  shut() {
    document.body.classList.remove("opened");
    this.item.replaceChildren();
  }

  close() {
    this.shut();
    this.write();
    this.list.querySelector(`[data-at="${this.open}"]`)?.focus();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, select, textarea");
    if (event.key === "Escape") {
      if (!field) return this.open >= 0 && this.close();
      event.preventDefault(); // some browsers would take the words away, and what they find
      return field.blur();
    }
    if (field) return;
    const steps = { j: 1, k: -1 };
    if (event.key === "/") {
      event.preventDefault();
      this.search.focus();
      this.search.select();
    } else if (event.key in steps) {
      const at = this.found.indexOf(this.open);
      const next = this.found[at < 0 ? 0 : at + steps[event.key]];
      if (next !== undefined) this.go(next);
    }
  }
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

/** Let long names break behind their underscores and strokes. */
function breakNames() {
  for (const place of document.querySelectorAll("h1, th, dt"))
    for (const name of [...place.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE))
      name.replaceWith(...name.data.split(/(?<=[_/])/).flatMap((part) => [make("wbr"), part]));
}

/** Say of tables that are wider than the page that they can be pushed. */
function tellWide() {
  const tell = ({ target }) => target.classList.toggle("cut", target.scrollWidth > target.clientWidth);
  const seen = new ResizeObserver((changes) => changes.forEach(tell));
  document.querySelectorAll(".wide").forEach((table) => seen.observe(table));
}

/** Open what is folded where a link leads to it. */
function unfold() {
  const place = document.getElementById(location.hash.slice(1));
  if (place?.matches("details")) place.open = true;
}

chooseTheme();
breakNames();
tellWide();
unfold();
window.addEventListener("hashchange", unfold);
if (document.getElementById("index"))
  unpack("index").then(async (index) => {
    const viewer = (window.viewer = new Viewer(index));
    document.getElementById("answers").hidden = false;
    await viewer.filter();
    await viewer.follow();
    document.documentElement.dataset.ready = "yes";
  });
