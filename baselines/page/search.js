// The search: over questions, answers and gold, and over passages where that is asked for.

class Search {
  /** `tell` shows a person that texts are being unpacked, which is done at the first search. */
  constructor(index, tell) {
    this.index = index;
    this.tell = tell;
  }

  /** Return what holds all of some words, as a test of an item's number. */
  async finds(words, deep) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    if (!wanted.length) return () => true;
    const holds = (text) => wanted.every((word) => text.includes(word));
    const texts = await (this.texts ??= this.readItems());
    if (!deep) return (at) => holds(texts[at]);
    const hits = (await (this.passages ??= this.readPassages())).map(holds);
    return (at) => holds(texts[at]) || this.details[at].runs.some((run) => run?.passages.some(([number]) => hits[number]));
  }

  async readItems() {
    const { items } = this.index;
    this.details = await this.readAll("items");
    return this.details.map((one, at) =>
      [items[at].id, items[at].groups.system ?? "", items[at].question + one.rest, ...one.gold, ...one.runs.map((_, run) => answerOf(items[at], one, run))]
        .join("\n")
        .toLowerCase(),
    );
  }

  async readPassages() {
    return (await this.readAll("passages")).map((one) => one.join("\n").toLowerCase());
  }

  /** Return the values of all blocks of a kind. */
  async readAll(kind) {
    this.tell(WORDS.searching);
    const all = [];
    for (let at = 0; document.getElementById(`${kind}-${at}`); at++) all.push(unpack(`${kind}-${at}`));
    return (await Promise.all(all)).flat();
  }
}
