// Differences of two texts: which words of one stand in the other in the same order.

const MARKED = 1500; // words of a text above which nothing is marked

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
