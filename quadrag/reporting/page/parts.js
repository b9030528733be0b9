"use strict";
// What the scripts of both pages use: their words, and elements. Texts only ever become text nodes.

const WORDS = JSON.parse(document.getElementById("words").textContent);

const byId = (id) => document.getElementById(id);

/** Make an element with attributes and children; a child that is no element becomes a text node. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

/** Return a text in parts, with marks between the given begins and ends, which count whole characters. */
function marked(text, places) {
  const signs = places.length ? [...text] : [];
  const parts = [];
  let at = 0;
  for (const [begin, end] of places) {
    parts.push(signs.slice(at, begin).join(""), make("mark", {}, signs.slice(begin, end).join("")));
    at = end;
  }
  return places.length ? [...parts, signs.slice(at).join("")] : [text];
}
