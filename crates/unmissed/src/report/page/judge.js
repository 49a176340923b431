"use strict";
// Judging pairs. Everything from files goes into the page as text, never as markup.
(() => {
  const { mark, columns, pairs } = JSON.parse(document.getElementById("pairs").textContent);
  const at = (name) => columns.indexOf(name);
  const [ROW, LABEL, RELEVANT] = [at("row"), at("label"), at("relevant")];
  const WORDS = { 1: "relevant", 0: "not relevant", unsure: "unsure" };
  const part = (id) => document.getElementById(id);
  const key = (pair) => `${pair[ROW]} ${pair[LABEL]}`;
  const places = new Map(pairs.map((pair, place) => [key(pair), place]));
  const store = `unmissed-judge-${mark}`;
  let relevance = new Array(pairs.length).fill(""), done = [], here = 0, keeps = true, exported = true;

  /** Keeps everything in the browser; a browser that refuses is told of, since a closed tab would lose judgements. */
  function keep() {
    try {
      localStorage.setItem(store, JSON.stringify({ relevance, done, judge: part("judge").value }));
    } catch {
      keeps = false;
      part("message").textContent = "This browser does not store judgements: export them before you close the page.";
    }
  }

  function restore() {
    try {
      const kept = JSON.parse(localStorage.getItem(store) ?? "null");
      // Earlier versions stored them under `said`.
      const stored = kept?.relevance ?? kept?.said;
      if (!Array.isArray(stored) || stored.length !== pairs.length) return;
      relevance = stored.map((value) => (value in WORDS ? value : ""));
      done = (Array.isArray(kept.done) ? kept.done : []).filter((place) => Number.isInteger(place) && place >= 0 && place < pairs.length);
      part("judge").value = String(kept.judge ?? "");
    } catch {
      keeps = false;
    }
  }

  /** The first open pair from a place on, or the place itself when all are judged. */
  function open(from) {
    for (let step = 0; step < pairs.length; step += 1) {
      const place = (from + step) % pairs.length;
      if (relevance[place] === "") return place;
    }
    return from;
  }

  function show() {
    const pair = pairs[here], judged = relevance.filter((value) => value !== "").length;
    const cell = (name) => (at(name) < 0 ? "" : pair[at(name)]);
    part("label").textContent = cell("label_name") || `label ${pair[LABEL]}`;
    part("label-id").textContent = pair[LABEL];
    part("row-id").textContent = pair[ROW];
    part("row-name").textContent = cell("row_name");
    part("text").textContent = cell("text");
    part("text").hidden = cell("text") === "";
    part("count").textContent = `Pair ${here + 1} of ${pairs.length}, ${judged} judged`;
    part("progress").max = pairs.length;
    part("progress").value = judged;
    part("judgement").textContent = relevance[here] === "" ? (judged === pairs.length ? "" : "Not judged yet.") : `Judged: ${WORDS[relevance[here]]}.`;
    if (judged === pairs.length) part("judgement").textContent += " All pairs are judged: export the csv.";
    document.querySelectorAll("[data-judgement]").forEach((button) => {
      button.setAttribute("aria-pressed", String(relevance[here] !== "" && button.dataset.judgement === relevance[here]));
    });
    part("undo").disabled = done.length === 0;
    part("back").disabled = here === 0;
    part("forward").disabled = here === pairs.length - 1;
  }

  function judge(value) {
    relevance[here] = value;
    done.push(here);
    here = open(here);
    exported = false;
    keep();
    show();
  }

  /** Takes the last judgement back and returns to its pair. */
  function undo() {
    const last = done.pop();
    if (last === undefined) return;
    relevance[last] = "";
    here = last;
    exported = false;
    keep();
    show();
  }

  function go(step) {
    here = Math.min(pairs.length - 1, Math.max(0, here + step));
    show();
  }

  /**
   * A text as csv has it, in one line. What a spreadsheet would take for a formula, also behind a semicolon, gets a quote in front.
   */
  function quoted(text) {
    const safe = text.replace(/(^|;)(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1'").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
    return /[",;]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function csv() {
    const judgeName = part("judge").value.trim();
    const lines = pairs.map((pair, place) => {
      const cells = pair.map((cell, column) => (column === RELEVANT ? relevance[place] : quoted(cell)));
      return [...cells, quoted(judgeName)].join(",");
    });
    return `${[...columns, "judge"].join(",")}\n${lines.join("\n")}\n`;
  }

  function save() {
    const link = document.createElement("a");
    const name = part("judge").value.trim().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.download = name ? `judged-${name}.csv` : "judged.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    exported = true;
    part("message").textContent = `Exported ${relevance.filter((value) => value !== "").length} judgements of ${pairs.length} pairs.`;
  }

  /** Records of a csv, with quotes as RFC 4180 has them. */
  function records(text) {
    const all = [];
    let record = [], cell = "", inside = false;
    const end = () => { record.push(cell); cell = ""; };
    for (let i = text.startsWith("\ufeff") ? 1 : 0; i < text.length; i += 1) {
      const c = text[i];
      if (inside) {
        if (c !== '"') cell += c;
        else if (text[i + 1] === '"') { cell += c; i += 1; }
        else inside = false;
      } else if (c === '"' && cell === "") inside = true;
      else if (c === ",") end();
      else if (c === "\n") { end(); all.push(record); record = []; }
      else if (c !== "\r") cell += c;
    }
    if (cell !== "" || record.length > 0) { end(); all.push(record); }
    return all;
  }

  /** Fills open pairs from a file. What is judged here already stays; differences are counted. */
  function load(text) {
    const [header = [], ...lines] = records(text);
    const [row, label, relevant] = ["row", "label", "relevant"].map((name) => header.map((cell) => cell.trim()).indexOf(name));
    if (row < 0 || label < 0 || relevant < 0) return "This is not a judged csv: it needs the columns row, label and relevant.";
    const counts = { filled: 0, same: 0, different: 0, unknown: 0, unreadable: 0 };
    for (const line of lines) {
      const value = (line[relevant] ?? "").trim().toLowerCase();
      if (value === "") continue;
      const place = places.get(`${(line[row] ?? "").trim()} ${(line[label] ?? "").trim()}`);
      if (!(value in WORDS)) counts.unreadable += 1;
      else if (place === undefined) counts.unknown += 1;
      else if (relevance[place] === "") { relevance[place] = value; counts.filled += 1; }
      else counts[relevance[place] === value ? "same" : "different"] += 1;
    }
    const words = [`Imported ${counts.filled} judgements`];
    if (counts.same) words.push(`${counts.same} were the same here`);
    if (counts.different) words.push(`${counts.different} differ and were not changed here`);
    if (counts.unknown) words.push(`${counts.unknown} are of other pairs`);
    if (counts.unreadable) words.push(`${counts.unreadable} are neither 1, 0 nor unsure`);
    return `${words.join("; ")}.`;
  }

  document.querySelectorAll("[data-judgement]").forEach((button) => button.addEventListener("click", () => judge(button.dataset.judgement)));
  part("undo").addEventListener("click", undo);
  part("back").addEventListener("click", () => go(-1));
  part("forward").addEventListener("click", () => go(1));
  part("next").addEventListener("click", () => { here = open(here); show(); });
  part("export").addEventListener("click", save);
  part("judge").addEventListener("input", keep);
  part("import").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    const message = load(await file.text());
    event.target.value = "";
    keep();
    here = open(here);
    show();
    part("message").textContent = message;
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input[type=text]")) return;
    const value = { r: "1", n: "0", u: "unsure" }[event.key.toLowerCase()];
    if (value !== undefined) judge(value);
    else if (event.key.toLowerCase() === "z" || event.key === "Backspace") undo();
    else if (event.key === "ArrowLeft" && !event.target.matches("#text")) go(-1);
    else if (event.key === "ArrowRight" && !event.target.matches("#text")) go(1);
    else return;
    event.preventDefault();
  });
  window.addEventListener("beforeunload", (event) => { if (!keeps && !exported) event.preventDefault(); });

  restore();
  here = open(0);
  part("tool").hidden = false;
  show();
})();
