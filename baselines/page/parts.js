"use strict";
// What all of the page's script uses: its words, its packed blocks, elements. Texts only ever become text nodes.

const WORDS = JSON.parse(document.getElementById("words").textContent);

const blocks = new Map();

/** Return a block of the page, unpacked; each is unpacked once. */
function unpack(name) {
  if (!blocks.has(name)) blocks.set(name, read(name));
  return blocks.get(name);
}

async function read(name) {
  return JSON.parse(lengthen(await inflate(name), await (characters ??= inflate("characters").then(pairUp))));
}

let characters; // those of all texts, the most frequent first
const pairUp = (bytes) => new Uint16Array(bytes.buffer);

async function inflate(name) {
  const text = document.getElementById(name).textContent;
  const bytes = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

/** Return the text of bytes: one stands for a frequent character, two or three for the others, by their ranks. */
function lengthen(bytes, known) {
  const text = new Uint16Array(bytes.length);
  let count = 0;
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at++];
    let rank = first;
    if (first === 255) rank = bytes[at++] * 256 + bytes[at++];
    else if (first >= 192) rank = 192 + (first - 192) * 256 + bytes[at++];
    text[count++] = known[rank];
  }
  return new TextDecoder("utf-16le").decode(text.subarray(0, count));
}

/** Make an element with attributes and children; a child that is no element becomes a text node. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

/** Write what something is of, or how many there are, behind it. */
const tellOf = (words, told) => WORDS.of.replace("{0}", () => words).replace("{1}", () => told);

/** Write a value in the unit of the tables, so many times as large; null is a dash. */
const show = (value, scale) => (value === null ? "–" : String(Math.round(value * scale * 10) / 10));
