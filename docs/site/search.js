// SPDX-License-Identifier: Apache-2.0
// Search: every section of the site (index.js) that has all words, or, if there is none, some of them; those with the words in
// their headings first. Accents do not count.
"use strict";

const root = document.body.dataset.root;
const box = document.getElementById("search");
const list = document.getElementById("results");
let chosen = -1;

// The index is read when somebody searches for the first time.
function load(then) {
    if (typeof SECTIONS !== "undefined") return then();
    const script = document.createElement("script");
    script.src = root + "/index.js";
    script.onload = then;
    document.head.append(script);
}

function plain(text) {
    return text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "");
}

// How many words a section has, then how well it has them.
function score(words, [, title, heading, text]) {
    let points = 0;
    for (const word of words) {
        const here = (plain(heading).includes(word) ? 10 : 0) + (plain(title).includes(word) ? 4 : 0) +
            Math.min(3, plain(text).split(word).length - 1);
        points += here && 1000 + here;
    }
    return points;
}

function excerpt(words, text) {
    const at = Math.max(0, plain(text).indexOf(words.find((word) => plain(text).includes(word)) ?? "") - 60);
    const piece = document.createElement("small");
    piece.textContent = (at ? "... " : "") + text.slice(at, at + 180) + (at + 180 < text.length ? " ..." : "");
    const pattern = new RegExp("(" + words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "gi");
    const parts = piece.textContent.split(pattern);
    piece.replaceChildren(...parts.map((part, i) => (i % 2 ? Object.assign(document.createElement("mark"), {textContent: part}) : part)));
    return piece;
}

function show() {
    const words = plain(box.value).split(/\s+/).filter(Boolean);
    list.hidden = words.length === 0;
    chosen = -1;
    const found = SECTIONS.map((section) => [score(words, section), section]).sort((a, b) => b[0] - a[0]);
    const most = found.length ? Math.floor(found[0][0] / 1000) : 0; // words that the best one has
    found.splice(found.findIndex(([points]) => points < 1000 * Math.max(1, most)) >>> 0);
    list.replaceChildren(...found.slice(0, 30).map(([, [address, title, heading, text]]) => {
        const link = document.createElement("a");
        link.href = root + "/" + address;
        const head = document.createElement("b");
        head.textContent = title === heading ? title : title + ": " + heading;
        link.append(head, excerpt(words, text));
        return link;
    }));
    if (words.length && !found.length) list.innerHTML = "<p>No section has any of these words.</p>";
}

function choose(step) {
    const items = [...list.querySelectorAll("a")];
    items[chosen]?.classList.remove("chosen");
    chosen = Math.max(0, Math.min(items.length - 1, chosen + step));
    items[chosen]?.classList.add("chosen");
    items[chosen]?.scrollIntoView({block: "nearest"});
}

box.addEventListener("input", () => load(show));
box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { box.value = ""; list.hidden = true; }
    if (event.key === "ArrowDown") { choose(1); event.preventDefault(); }
    if (event.key === "ArrowUp") { choose(-1); event.preventDefault(); }
    if (event.key === "Enter") list.querySelectorAll("a")[Math.max(0, chosen)]?.click();
});
list.addEventListener("click", () => { list.hidden = true; });
document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) { box.focus(); event.preventDefault(); }
});
document.addEventListener("click", (event) => { if (!list.contains(event.target) && event.target !== box) list.hidden = true; });
if (window.innerWidth < 900) document.querySelector("nav details").open = false;
// #search=WORDS searches at once.
if (location.hash.startsWith("#search=")) { box.value = decodeURIComponent(location.hash.slice(8)); load(show); }
