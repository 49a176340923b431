// The page to judge pairs with, in headless Chromium.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { LAUNCH } from "./browser.mjs";
import { folder, hostile, run } from "./world.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser;
before(async () => {
  const names = Array.from({ length: 120 }, (_, label) => (label === 0 ? hostile : `item ${label}, "the ${label}th"`));
  writeFileSync(join(folder, "labels.txt"), names.join("\n"));
  const texts = Array.from({ length: 900 }, (_, row) => JSON.stringify({ text: `=user ${row} ${hostile}\nlikes <b>many</b>; =things & "quotes"` }));
  writeFileSync(join(folder, "rows.jsonl"), texts.join("\n"));
  run("annotate", "plan", "--test", "test.txt", "--predictions", "popular.txt", "--predictions", "learned.txt", "--budget", "40", "--check-observed", "5",
    "--label-names", "labels.txt", "--row-text", "rows.jsonl:text", "-o", "judged");
  browser = await chromium.launch(LAUNCH);
});
after(async () => { await browser?.close(); });

const address = pathToFileURL(join(folder, "judged", "judge.html")).href;

async function open(context) {
  const tab = await context.newPage();
  const complaints = [], requests = [];
  tab.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  tab.on("pageerror", (error) => complaints.push(String(error)));
  tab.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  tab.on("request", (request) => requests.push(request.url()));
  await tab.goto(address);
  return { tab, complaints, requests };
}
const count = (tab) => tab.locator("#count").textContent();

/** The exported csv. */
async function exported(tab) {
  const [download] = await Promise.all([tab.waitForEvent("download"), tab.locator("#export").click()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
}
const relevance = (text) => text.trim().split(/\n(?=\d+,\d+,\d+,)/).slice(1).map((line) => line.split(",")[5]);

test("it asks for nothing, complains about nothing, and shows names as text", async () => {
  const context = await browser.newContext();
  const { tab, complaints, requests } = await open(context);
  assert.equal(await count(tab), "Pair 1 of 45, 0 judged");
  assert.ok((await tab.locator("#text").textContent()).includes(hostile));
  assert.equal(await tab.locator("#card script, #card b").count(), 0);
  // Every pair, hostile label included.
  for (let pair = 0; pair < 44; pair += 1) await tab.keyboard.press("ArrowRight");
  assert.deepEqual([complaints, requests], [[], [address]]);
  await context.close();
});

test("keys judge, undo takes back, and the browser remembers", async () => {
  const context = await browser.newContext();
  const { tab } = await open(context);
  const first = await tab.locator("#label").textContent();
  for (const key of ["r", "n", "u"]) await tab.keyboard.press(key);
  assert.equal(await count(tab), "Pair 4 of 45, 3 judged");
  await tab.keyboard.press("z");
  assert.equal(await count(tab), "Pair 3 of 45, 2 judged");
  await tab.getByRole("button", { name: "Not relevant" }).click();
  await tab.locator("#judge").fill("Anna");
  await tab.keyboard.type("runz");
  assert.equal(await tab.locator("#judge").inputValue(), "Annarunz", "letters in the name are no judgements");
  await tab.locator("#judge").fill("Anna");
  const again = (await open(context)).tab;
  assert.equal(await count(again), "Pair 4 of 45, 3 judged");
  assert.equal(await again.locator("#judge").inputValue(), "Anna");
  for (let step = 0; step < 3; step += 1) await again.keyboard.press("ArrowLeft");
  assert.equal(await again.locator("#label").textContent(), first);
  assert.equal(await again.locator("#judgement").textContent(), "Judged: relevant.");
  const { name, text } = await exported(again);
  assert.equal(name, "judged-Anna.csv");
  assert.deepEqual(relevance(text).slice(0, 4), ["1", "0", "0", ""]);
  await context.close();
});

test("export and import round-trip, and the command line reads the export", async () => {
  const context = await browser.newContext();
  const { tab } = await open(context);
  const keys = ["r", "n", "n", "u", "r"];
  for (let pair = 0; pair < 45; pair += 1) await tab.keyboard.press(keys[pair % 5]);
  assert.match(await tab.locator("#judgement").textContent(), /All pairs are judged/);
  const { text } = await exported(tab);
  assert.equal(relevance(text).filter((value) => value === "").length, 0);
  const lines = text.trim().split("\n");
  assert.equal(lines.length, 46, "a pair is a line, also where its text has several");
  assert.ok(lines[1].includes("\\nlikes <b>many</b>;' =things"), lines[1]);
  const file = join(folder, "judged", "anna.csv");
  writeFileSync(file, text);
  const printed = run("evaluate", "--test", "test.txt", "--predictions", "popular.txt", "--predictions", "learned.txt", "--judged", "judged/anna.csv",
    "--metrics", "precision", "--format", "json");
  assert.ok(JSON.parse(printed).rows.some((row) => row.estimator === "judged" && row.value > 0));
  await context.close();
  // Another browser that has judged one pair differently keeps its own.
  const fresh = await browser.newContext();
  const other = (await open(fresh)).tab;
  await other.keyboard.press("n");
  await other.locator("#import").setInputFiles(file);
  await other.waitForFunction(() => document.getElementById("message").textContent !== "");
  assert.equal(await other.locator("#message").textContent(), "Imported 44 judgements; 1 differ and were not changed here.");
  const back = await exported(other);
  assert.deepEqual(relevance(back.text), ["0", ...relevance(text).slice(1)]);
  await fresh.close();
});

test("files of something else are refused in words", async () => {
  const context = await browser.newContext();
  const { tab } = await open(context);
  for (const [text, expected] of [
    ["a,b\n1,2\n", "This is not a judged csv: it needs the columns row, label and relevant."],
    ["row,label,relevant\n0,0,maybe\n899,119999,1\n", "Imported 0 judgements; 1 are of other pairs; 1 are neither 1, 0 nor unsure."],
  ]) {
    const file = join(folder, "judged", "broken.csv");
    writeFileSync(file, text);
    await tab.locator("#import").setInputFiles(file);
    await tab.waitForFunction((message) => document.getElementById("message").textContent === message, expected);
  }
  await context.close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`it is accessible and fits a phone (${colorScheme})`, async () => {
    const context = await browser.newContext({ viewport: { width: 360, height: 740 }, colorScheme });
    const { tab } = await open(context);
    assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    await tab.evaluate(axe);
    const { violations } = await tab.evaluate(() => window.axe.run());
    assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(" ")}`), []);
    await context.close();
  });
}
