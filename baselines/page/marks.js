// What is marked in texts: words of one that stand in another in the same order or do not, and places found before.

const MARKED = 1500; // words of a text above which nothing is marked

// A Chinese character; a word, in which a number has its point and its thousands; what is between words.
const PIECE = /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{N}]|(?<=\p{N})(?:[.．]|,(?=\p{N}{3}(?!\p{N})))(?=\p{N}))+|[^\p{L}\p{N}]+/gu;

const WAYS = " / "; // between the ways to say a gold

const LONE = /^\s*\p{Script=Han}\s*$/u; // one Chinese character, which many texts share by chance

/** Cut a text into words, single Chinese characters, and what is between them. */
const cut = (text) => text.match(PIECE) ?? [];

const isWord = (token) => /[\p{L}\p{N}]/u.test(token);

const makeMark = (kind, text, told = WORDS[kind]) => make("mark", { class: kind, title: told }, text);

/** Return the part of a text from a place on, as long as `text`, with marks between the given begins and ends. */
function markedAt(text, places, from) {
  const parts = [];
  let at = 0;
  for (const [begin, end] of places.map((ends) => ends.map((one) => Math.min(Math.max(one - from, 0), text.length)))) {
    if (begin === end) continue;
    parts.push(text.slice(at, begin), makeMark("shared", text.slice(begin, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}

/** Return golds, a line each of the ways to say it, with marks on the words that stand in no answer; none where a way stands whole. */
function markedGold(golds, answers, told) {
  const stands = (way) => answers.some((one) => one.toLowerCase().includes(way.trim().toLowerCase()));
  const line = (gold) => {
    const ways = gold.split(WAYS);
    return ways.some(stands) ? [gold] : ways.flatMap((way, at) => [at ? WAYS : "", ...marked(way, answers, "missing", told)]);
  };
  return golds.flatMap((gold, at) => [at ? "\n" : "", ...line(gold)]);
}

/** Say whether a word stands anywhere in texts; a Chinese character does with one beside it. */
function standsIn(token, at, ours, texts) {
  if (!LONE.test(token)) return texts.some((one) => cut(one).some((other) => other.toLowerCase() === token.toLowerCase()));
  return [token + (ours[at + 1] ?? ""), (ours[at - 1] ?? "") + token].some((pair) => pair.length > 1 && texts.some((one) => one.includes(pair)));
}

/** Return a text in parts: `shared` marks the words that stand in one of others in the same order, `missing` those that stand in none. */
function marked(text, others, kind, told) {
  const ours = cut(text);
  const words = ours.map((token, at) => [token.toLowerCase(), at]).filter(([token]) => isWord(token));
  const each = others.map((other) => cut(other).filter(isWord).map((token) => token.toLowerCase())).filter((one) => one.length);
  if (!each.length || [words, ...each].some((one) => one.length > MARKED)) return [text];
  const same = new Set(each.flatMap((theirs) => align(words.map(([token]) => token), theirs)).map((place) => words[place][1]));
  if (kind === "missing") ours.forEach((token, at) => isWord(token) && standsIn(token, at, ours, others) && same.add(at));
  const parts = [];
  let open = null;
  ours.forEach((token, at) => {
    const mark = isWord(token) && same.has(at) === (kind === "shared");
    if (mark && open) open.textContent += token;
    else if (mark) parts.push((open = makeMark(kind, token, told)));
    else {
      open = isWord(token) ? null : /^\s+$/.test(token) ? open : null;
      if (open) open.textContent += token;
      else parts.push(token);
    }
  });
  const stray = (part) => kind === "shared" && each.some((one) => one.length > 1) && LONE.test(part.textContent);
  return parts.map((part) => (stray(part) ? part.textContent : part));
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
