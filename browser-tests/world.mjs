// Pages to look at: artificial users and items whose truth is known, audited by the command line that was just built.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const built = ["debug", "release"].map((profile) => join(root, "target", profile, "unmissed")).find(existsSync);
export const program = process.env.UNMISSED ?? built;
export const folder = mkdtempSync(join(tmpdir(), "unmissed-pages-"));

/** Runs the command line in the folder of the pages. */
export function run(...args) {
  return execFileSync(program, [...args, "--quiet"], { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
}

/** Runs a command whose gate is to fail. */
function gated(...args) {
  const { status, stderr } = spawnSync(program, [...args, "--quiet"], { cwd: folder, encoding: "utf8" });
  if (status !== 1) throw new Error(`exit code ${status}: ${stderr}`);
}

/** Labels of each row of a data file. */
function labels(name) {
  const [, ...lines] = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
  return lines.map((line) => line.split(" ")[0].split(",").filter(Boolean).map(Number));
}

/** A ranking of five labels per row: popular ones, and with some luck relevant ones first. Luck is a fixed rule, no dice. */
function predictions(name, skill) {
  const truth = labels("test_clean.txt"), items = Number(readFileSync(join(folder, "test.txt"), "utf8").split("\n")[0].split(" ")[2]);
  const counts = new Array(items).fill(0);
  labels("train.txt").flat().forEach((label) => { counts[label] += 1; });
  const popular = counts.map((count, label) => [count, label]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).map((entry) => entry[1]);
  const lines = truth.map((row, index) => {
    const known = row.filter((label) => (index * 31 + label * 17) % 100 < skill);
    const order = [...known, ...popular.filter((label) => !known.includes(label))].slice(0, 5);
    return order.map((label, rank) => `${label}:${10 - rank}`).join(" ");
  });
  writeFileSync(join(folder, name), `${lines.length} ${items}\n${lines.join("\n")}\n`);
}

export const hostile = "<script>alert(1)</script>";
run("generate", "survey", "-o", ".", "--users", "3000", "--test-users", "900", "--controlled-users", "400", "--items", "120", "--shown", "12", "--seed", "4");
predictions("popular.txt", 4);
predictions("learned.txt", 30);
predictions("third.txt", 15);
const count = (name, place) => Number(readFileSync(join(folder, name), "utf8").split("\n")[0].split(" ")[place]);
const lines = (name, total, line) => writeFileSync(join(folder, name), Array.from({ length: total }, (_, at) => line(at) + "\n").join(""));
lines("names.txt", count("test.txt", 2), (label) => `Étiquette ${label}, ${"abc"[label % 3]}-kind`);
lines("hostile_names.txt", count("test.txt", 2), (label) => `${hostile} ${label}`);
lines("texts.txt", count("test.txt", 0), (row) => `what user ${row} wrote <b>&amp;`);
run("audit", "--name", "survey", "--train", "train.txt", "--test", "test.txt", "--truth", "test_clean.txt", "--controlled", "controlled.txt",
  "--rate", "12/120", "--predictions", "popular.txt", "--predictions", "learned.txt", "-o", "page.html", "--json", "page.json", "--bootstrap", "20",
  "--label-names", "names.txt", "--row-text", "texts.txt");
run("audit", "--name", 'a "b" <i>ü漢</i>', "--train", "train.txt", "--test", "test.txt", "--predictions", `${hostile}=popular.txt`,
  "--predictions", "second=learned.txt", "--predictions", "third.txt", "-o", "hostile.html", "--bootstrap", "0",
  "--label-names", "hostile_names.txt");
run("audit", "--test", "test.txt", "--predictions", "popular.txt", "-o", "bare.html", "--bootstrap", "0");
gated("audit", "--train", "train.txt", "--test", "test.txt", "--predictions", "popular.txt", "--predictions", "learned.txt", "-o", "gated.html",
  "--fail-below", "precision@1=0.99", "--fail-on", "error");
