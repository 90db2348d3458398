/* Helpers for all scripts of the page. All script files become the body of one function, see
   page/__init__.py. Nothing is fetched, and text from hosts is inserted as text, never as markup. */
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const dialog = document.getElementById("cell");
const LANGUAGE = document.documentElement.lang;
const WORDS = JSON.parse(dialog.dataset.words); // in the page's language, see script_words.py

/* A text by its name, with values in its braces. */
function say(name, values = {}) {
  return WORDS[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const words = (number, digits = 6) =>
  Number(number.toPrecision(digits)).toLocaleString(LANGUAGE, { maximumSignificantDigits: digits });
