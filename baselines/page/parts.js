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

const show = (value) => (value === null ? "–" : String(Math.round(value * 10000) / 10000));
