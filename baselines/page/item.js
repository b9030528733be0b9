// One question with all that belongs to it: passages, answers, gold, values, the judge's words.

/** Return the whole of an answer, whose beginning stands in the list. */
const answerOf = (item, detail, run) => (item.answers[run] ?? "") + (detail.runs[run]?.rest ?? "");

/** Return what the list does not have of an item, and its passages by their numbers. */
async function readItem(index, at) {
  const { sizes } = index;
  const take = async (kind, number) => (await unpack(`${kind}-${Math.floor(number / sizes[kind])}`))[number % sizes[kind]];
  const detail = await take("items", at);
  const passages = new Map();
  for (const [number] of detail.runs.flatMap((run) => run?.passages ?? []))
    passages.set(number, await take("passages", number));
  return [detail, passages];
}

/** Make the whole of an item; `back` is what leads to the list. */
function makeItem(index, item, [detail, passages], back) {
  const place = [...Object.values(item.groups), item.id, item.sample ? `${WORDS.sample} ${item.sample}` : ""];
  const turns = detail.history.map(([asked, told]) => make("p", { class: "turn" }, `${asked} / ${told ?? ""}`));
  const several = index.runs.length > 1;
  const lists = new Set(detail.runs.filter(Boolean).map((run) => JSON.stringify(run.passages)));
  const shared = several && lists.size === 1; // all runs were shown the same passages: they stand once
  const list = (run) => makePassages(run, passages);
  const missing = several ? WORDS.missing_all : WORDS.missing;
  const answers = detail.runs.map((_, run) => answerOf(item, detail, run));
  const alone = detail.wanted?.alone; // a refusal is right: nothing of the gold is missed
  const goldText = !detail.gold.length ? [WORDS.nothing] : markedGold(detail.gold, alone ? [] : answers, missing);
  const whole = [
    back,
    make("p", { class: "place" }, place.filter(Boolean).join(" · ")),
    ...turns,
    make("h3", {}, item.question + detail.rest),
    ...(detail.wanted ? [make("p", { class: "wanted" }, WORDS[alone ? "refusal" : "phrase"].replace("{0}", detail.wanted.phrase))] : []),
    make("h4", {}, alone ? WORDS.gold_unasked : WORDS.gold),
    make("p", { class: "text" }, ...goldText),
    make("p", { class: "legend" }),
    make(
      "div",
      { class: several ? "sides" : "" },
      ...detail.runs.map((run, at) =>
        make(
          "section",
          {},
          ...[several ? index.runs[at] : item.groups.system].filter(Boolean).map((name) => make("h4", { class: "run" }, name)),
          ...(run ? [...makeSide(index, item, detail, at), ...(shared ? [] : list(run))] : [make("p", {}, WORDS.absent)]),
        ),
      ),
    ),
    ...(shared ? list(detail.runs.find(Boolean)) : []),
  ];
  const legend = whole.find((part) => part.className === "legend");
  for (const [kind, told] of [["missing", missing], ["shared", WORDS.shared]])
    if (whole.some((part) => part.querySelector(`mark.${kind}`))) legend.append(makeMark(kind, told, ""), " ");
  return whole;
}

/** Make what one run has of an item: answer, values, the judge's words. */
function makeSide(index, item, detail, side) {
  const gold = detail.gold.flatMap((line) => line.split(WAYS));
  const run = detail.runs[side];
  const text = answerOf(item, detail, side);
  const answer = text
    ? make("p", { class: "text" }, ...marked(text, gold, "shared"), item.failed[side] ? make("span", { class: "faint" }, ` (${item.failed[side]})`) : "")
    : make("p", { class: "text faint" }, item.failed[side] || WORDS.empty);
  return [
    make("h4", {}, WORDS.answer),
    answer,
    ...makeSaid(detail.wanted, run),
    ...(run.scored ? [make("h4", {}, WORDS.scored), make("p", { class: "text" }, ...marked(run.scored, gold, "shared"))] : []),
    make("table", { class: "values" }, make("tbody", {}, ...makeValues(index, item, run, side))),
    ...makeVerdicts(run.verdicts),
  ];
}

/** Say whether the phrase that was expected stands in an answer that was scored. */
function makeSaid(wanted, run) {
  if (!wanted || run.said === null) return [];
  const [kind, told] = run.said ? ["right", WORDS.said] : ["wrong", WORDS.unsaid];
  return [make("p", { class: `verdict ${kind}` }, told.replace("{0}", wanted.phrase))];
}

/** Make a row for each value; of a second run an arrow says what changed. */
function makeValues(index, item, run, side) {
  const other = side > 0 && item.answers[0] !== null ? item.values[0] : null;
  return index.metrics.flatMap(({ name, label, sign, unfit, scale }, at) => {
    const value = item.values[side][at];
    if (value === null && !run.reasons[name]) return []; // a metric of other questions
    const changed = other && value !== other[at];
    const better = changed && sign && !unfit && value !== null && other[at] !== null ? (value - other[at]) * sign : 0;
    const arrow = changed ? (better > 0 ? " ▲" : better < 0 ? " ▼" : " ≠") : "";
    return make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, show(value, scale) + arrow), make("td", {}, run.reasons[name] ?? ""));
  });
}

/** Make the judge's words; those that it said several times, as of several accepted answers, stand once. */
function makeVerdicts(verdicts) {
  const said = new Map();
  for (const [name, replies] of Object.entries(verdicts))
    for (const reply of replies) {
      const names = said.get(reply) ?? said.set(reply, new Map()).get(reply);
      names.set(name, (names.get(name) ?? 0) + 1);
    }
  const quotes = [...said].map(([reply, names]) => {
    const told = [...names].map(([name, times]) => (times > 1 ? `${name} × ${times}` : name));
    return make("blockquote", {}, make("cite", {}, told.join(WORDS.and)), reply);
  });
  return quotes.length ? [make("h4", {}, WORDS.judge), ...quotes] : [];
}

function makePassages(run, passages) {
  const found = run.passages.map(([number, score, relevant, places = []], rank) => {
    const [id, title, text] = passages.get(number);
    const told = [`${rank + 1}`, id, score === null ? "" : `${WORDS.score} ${Math.round(score * 10000) / 10000}`].filter(Boolean).join(" · ");
    const head = make("p", { class: "place" }, told, relevant ? make("b", { class: "gold" }, WORDS.relevant) : "");
    const before = title && `${title} `;
    const shown = [make("b", {}, ...markedAt(before, places, 0)), ...markedAt(text, places, before.length)];
    return make("li", {}, head, make("p", { class: "text" }, ...shown));
  });
  const told = run.found ? [make("p", {}, run.found)] : [];
  return [make("h4", {}, tellOf(WORDS.passages, found.length)), ...told, make("ol", { class: "passages" }, ...found)];
}
