// The audit's page in headless Chromium.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { LAUNCH } from "./browser.mjs";
import { folder, hostile, run } from "./world.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const address = (name) => pathToFileURL(join(folder, name)).href;
let browser;
before(async () => { browser = await chromium.launch(LAUNCH); });
after(async () => { await browser?.close(); });

/** A tab with the page; whatever it complains about or asks for is kept. */
async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, colorScheme: "light", ...options });
  const tab = await context.newPage();
  const complaints = [], requests = [];
  tab.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  tab.on("pageerror", (error) => complaints.push(String(error)));
  tab.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  tab.on("request", (request) => requests.push(request.url()));
  await tab.goto(address(name));
  return { tab, complaints, requests, close: () => context.close() };
}

/** Sets a slider as a hand would: the value, and the event. */
async function slide(tab, id, value) {
  await tab.locator(`#${id}`).fill(String(value));
}

/** A share in percent with at most four digits that mean something. */
const percent = (value) => {
  const fixed = (100 * value).toFixed(2);
  const digits = fixed.replace(/[^0-9]/g, "").replace(/^0+/, "").length;
  return digits <= 4 ? fixed : Number((100 * value).toPrecision(4)).toFixed(Math.abs(value) < 10 ? 1 : 0);
};

const overflow = (tab) => tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
const cells = (tab, table, column) =>
  tab.locator(`#${table} tbody tr`).evaluateAll((rows, place) => rows.map((row) => row.cells[place].textContent.trim()), column);

for (const name of ["page.html", "hostile.html", "bare.html"]) {
  test(`${name} loads without complaints and asks for nothing`, async () => {
    const { tab, complaints, requests, close } = await open(name);
    await tab.waitForTimeout(200);
    assert.deepEqual(complaints, []);
    assert.deepEqual(requests, [address(name)]);
    await close();
  });
}

test("names from files are text, whatever they contain", async () => {
  const { tab, complaints, close } = await open("hostile.html");
  assert.ok((await cells(tab, "live-table", 0)).includes(hostile));
  assert.equal(await tab.locator("h1").textContent(), 'a "b" <i>ü漢</i>');
  assert.equal(await tab.locator("h1 i").count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test("sliders show what the command line prints for the same constants", async () => {
  const { tab, complaints, close } = await open("page.html");
  for (const [a, b, gamma, k, metric] of [[0.55, 1.5, 1, 1, "precision"], [0.5, 0.4, 0.35, 3, "precision"], [1.37, 8.25, 0.6, 5, "ndcg"], [0, 0, 0, 2, "precision"]]) {
    for (const [id, value] of Object.entries({ a, b, gamma, k })) await slide(tab, id, value);
    await tab.locator("#metric").selectOption(metric);
    const printed = JSON.parse(run("evaluate", "--test", "test.txt", "--train", "train.txt", "--predictions", "popular.txt", "--predictions", "learned.txt",
      "--propensity", `jpv:a=${a},b=${b}`, "--propensity", `power:gamma=${gamma}`, "--metrics", metric, "--estimators", "observed,unbiased", "--k", String(k), "--format", "json"));
    const column = (start) => ["popular", "learned"].map((model) => {
      const row = printed.rows.find((row) => row.model === model && (start ? row.propensity?.startsWith(start) : row.propensity === null));
      return percent(row.value);
    });
    for (const [place, start] of [[1, null], [2, "jpv"], [3, "power"]]) {
      const shown = (await cells(tab, "live-table", place)).map((text) => text.split(" ")[0]);
      assert.deepEqual(shown, column(start), `${metric}@${k} ${start ?? "observed"} a=${a} b=${b} gamma=${gamma}`);
    }
    const values = column("jpv").map(Number);
    const places = (await cells(tab, "live-table", 2)).map((text) => text.match(/\((\d)\)/)[1]);
    assert.equal(places[values[0] > values[1] ? 0 : 1], "1");
  }
  assert.deepEqual(complaints, []);
  await close();
});

test("measured propensities stand beside the curves and follow k and the metric", async () => {
  const { tab, complaints, close } = await open("page.html");
  const heads = await tab.locator("#live-table thead th").allTextContents();
  const names = heads.slice(4).map((head) => head.replace(" (measured)", ""));
  assert.ok(names.includes("shrunken") && names.includes("direct"), heads.join());
  const { evaluation, propensities } = JSON.parse(readFileSync(join(folder, "page.json"), "utf8"));
  for (const [k, metric] of [[1, "precision"], [5, "precision"], [3, "ndcg"]]) {
    await slide(tab, "k", k);
    await tab.locator("#metric").selectOption(metric);
    for (const [place, name] of names.entries()) {
      const { origin } = propensities.find((report) => report.name === name);
      const is = (model) => (row) => row.model === model && row.metric === metric && row.k === k && row.estimator === "unbiased" && row.propensity === origin && row.group === "all";
      const expected = ["popular", "learned"].map((model) => percent(evaluation.rows.find(is(model)).value));
      const shown = (await cells(tab, "live-table", 4 + place)).map((text) => text.split(" ")[0]);
      assert.deepEqual(shown, expected, `${metric}@${k} with ${name}`);
    }
  }
  assert.match(await tab.locator("#live").textContent(), /with shrunken, which was measured, /);
  assert.deepEqual(complaints, []);
  await close();
});

test("the summary fits one screen and no number is cut", async () => {
  for (const name of ["page.html", "hostile.html", "bare.html", "gated.html"]) {
    for (const [width, height] of [[1280, 720], [400, 800]]) {
      const { tab, close } = await open(name, { viewport: { width, height } });
      const { y, height: tall } = await tab.locator(".summary").boundingBox();
      assert.ok(y + tall <= height, `${name} at ${width}: the summary ends at ${y + tall}`);
      await tab.locator("details").evaluateAll((all) => all.forEach((one) => { one.open = true; }));
      const broken = await tab.locator(".u").evaluateAll((all) => all.filter((one) => one.getClientRects().length > 1).map((one) => one.textContent));
      assert.deepEqual(broken, [], `${name} at ${width}`);
      const texts = await tab.locator(".summary dd, .sentences li, td, th").allTextContents();
      const metrics = texts.filter((text) => /@\d/.test(text));
      const whole = await tab.locator(".u").allTextContents();
      assert.ok(metrics.length === 0 || whole.some((text) => /precision@1/i.test(text)), name);
      await close();
    }
  }
});

test("the page says what is missing, what to report, who is better, and what was gated", async () => {
  const { tab, close } = await open("page.html");
  const lines = await tab.locator(".summary dd").allTextContents();
  assert.match(lines[0], /^About \d+ % of the relevant labels are missing \(measured: the complete labels of the test rows\)\.$/);
  assert.match(lines[1], /^Precision@1 of (popular|learned) is [\d.]+ % \([\d.]+ to [\d.]+\) on complete labels/);
  assert.match(lines[2], /^On complete labels /);
  assert.ok((await cells(tab, "standings", 1)).includes("popularity"));
  await close();
  const gated = await open("gated.html");
  assert.match(await gated.tab.locator(".gates li.failed").textContent(), /^--fail-below precision@1=0.99 failed: /);
  assert.equal(await gated.tab.locator(".gates li").count(), 2);
  await gated.close();
});

test("no number has more than four digits that mean something", async () => {
  for (const name of ["page.html", "hostile.html", "bare.html"]) {
    const { tab, close } = await open(name);
    await tab.locator("details").evaluateAll((all) => all.forEach((one) => { one.open = true; }));
    const all = await tab.locator("td.n, td.first, td.impossible, .summary dd, .sentences li").allTextContents();
    const numbers = all.flatMap((text) => text.match(/-?\d+\.\d+/g) ?? []);
    const long = numbers.filter((number) => number.replace(/[^0-9]/g, "").replace(/^0+/, "").length > 4);
    assert.deepEqual(long, [], name);
    await close();
  }
});

test("sliders work from the keyboard, presets and the map set them", async () => {
  const { tab, close } = await open("page.html");
  await tab.locator("#a").focus();
  const before = Number(await tab.locator("#a-value").textContent());
  await tab.keyboard.press("ArrowRight");
  assert.equal((Number(await tab.locator("#a-value").textContent()) - before).toFixed(2), "0.01");
  await tab.getByRole("button", { name: "wikipedia" }).click();
  assert.equal(await tab.locator("#b-value").textContent(), "0.40");
  const map = tab.locator("#map canvas");
  await map.click();
  assert.notEqual(await tab.locator("#b-value").textContent(), "0.40");
  assert.match(await map.getAttribute("aria-label"), /is ahead of/);
  const third = await open("hostile.html");
  const said = await third.tab.locator("#map canvas").getAttribute("aria-label");
  await third.tab.locator("#first").selectOption("2");
  assert.notEqual(await third.tab.locator("#map canvas").getAttribute("aria-label"), said);
  await third.close();
  await close();
});

test("tables sort by a button in their heads", async () => {
  const { tab, close } = await open("page.html");
  const head = tab.locator("#standings thead th").nth(2);
  await head.locator("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  const falling = (await cells(tab, "standings", 2)).map(Number);
  assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
  await head.locator("button").press("Enter");
  assert.equal(await head.getAttribute("aria-sort"), "ascending");
  const rising = (await cells(tab, "standings", 2)).map(Number);
  assert.deepEqual(rising, [...falling].reverse().sort((a, b) => a - b));
  await tab.locator("#standings thead th").first().locator("button").click();
  const words = await cells(tab, "standings", 0);
  assert.deepEqual(words, [...words].sort((a, b) => a.localeCompare(b)));
  await close();
});

test("labels are found by id and by name, and sorted by any column", async () => {
  const { tab, complaints, close } = await open("page.html");
  const names = await cells(tab, "labels-table", 1);
  assert.ok(names.length > 5 && names.every((name) => name.startsWith("Étiquette ")));
  const shown = () => tab.locator("#labels-table tbody tr:visible").count();
  await tab.locator("#labels-search").fill("etiquette A-KIND");
  const wanted = names.filter((name) => name.endsWith("a-kind")).length;
  assert.equal(await shown(), wanted);
  assert.equal(await tab.locator("#labels-search-found").textContent(), `${wanted} of ${names.length} lines`);
  await tab.locator("#labels-search").fill("no such label");
  assert.equal(await shown(), 0);
  await tab.locator("#labels-search").fill("");
  assert.equal(await shown(), names.length);
  await tab.locator("#labels-table thead th").nth(2).locator("button").click();
  const counts = (await cells(tab, "labels-table", 2)).map((text) => Number(text.replace(/\D/g, "")));
  const ascending = [...counts].sort((a, b) => a - b);
  assert.ok([ascending, [...ascending].reverse()].some((sorted) => sorted.join() === counts.join()), counts.join());
  assert.deepEqual(complaints, []);
  await close();
});

test("rows worth a look have their texts, and are searched", async () => {
  const { tab, complaints, close } = await open("page.html");
  const table = await tab.locator("#missing-table").count() ? "missing-table" : "errors-table";
  const rows = await tab.locator(`#${table} tbody tr`).count();
  assert.ok(rows > 0);
  const text = await tab.locator(`#${table} tbody tr`).first().textContent();
  assert.match(text, /what user \d+ wrote <b>&amp;/);
  const user = text.match(/what user (\d+) wrote/)[1];
  await tab.locator("#rows-search").fill(`user ${user} wrote`);
  assert.ok(await tab.locator(`#${table} tbody tr:visible`).count() >= 1);
  assert.ok(await tab.locator(`#${table} tbody tr:visible`).count() < rows || rows === 1);
  assert.deepEqual(complaints, []);
  await close();
});

test("names of labels are text, whatever they contain", async () => {
  const { tab, complaints, close } = await open("hostile.html");
  const names = await cells(tab, "labels-table", 1);
  assert.ok(names.length > 0 && names.every((name) => name.startsWith(hostile)));
  assert.deepEqual(complaints, []);
  await close();
});

test("nothing overflows, on a desk or on a phone, in both themes", async () => {
  for (const name of ["page.html", "hostile.html", "bare.html"]) {
    for (const width of [390, 1200]) {
      for (const colorScheme of ["light", "dark"]) {
        const { tab, close } = await open(name, { viewport: { width, height: 844 }, colorScheme });
        await tab.locator("details").evaluateAll((all) => all.forEach((one) => { one.open = true; }));
        assert.ok((await overflow(tab)) <= 0, `${name} at ${width} pixels, ${colorScheme}`);
        await close();
      }
    }
  }
});

test("the theme follows the system until the button is pressed", async () => {
  const { tab, close } = await open("page.html", { colorScheme: "dark" });
  const paper = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  assert.equal(await tab.locator("#theme").getAttribute("aria-pressed"), "true");
  await tab.locator("#theme").click();
  const light = await paper();
  assert.notEqual(light, dark);
  await tab.emulateMedia({ colorScheme: "light" });
  assert.equal(await paper(), light);
  await close();
});

test("an accessibility scan finds nothing serious in either theme", async () => {
  for (const name of ["page.html", "hostile.html", "bare.html"]) {
    for (const colorScheme of ["light", "dark"]) {
      const { tab, close } = await open(name, { colorScheme });
      await tab.locator("details").evaluateAll((all) => all.forEach((one) => { one.open = true; }));
      await tab.evaluate(axe);
      const { violations } = await tab.evaluate(() => window.axe.run());
      const bad = violations.filter((one) => ["serious", "critical"].includes(one.impact));
      const told = bad.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
      assert.deepEqual(told, [], `${name}, ${colorScheme}`);
      await close();
    }
  }
});

test("numbers can be taken along", async () => {
  const { tab, close } = await open("page.html", { acceptDownloads: true });
  const [csv] = await Promise.all([tab.waitForEvent("download"), tab.getByRole("link", { name: /csv/ }).click()]);
  const text = readFileSync(await csv.path(), "utf8");
  assert.ok(text.startsWith("metric,k,estimator,propensity,group,model,value,se,low,high,n\n"));
  assert.ok(text.includes("\nprecision,1,unbiased,\"jpv:a=0.55,b=1.5\",all,learned,"));
  const [json] = await Promise.all([tab.waitForEvent("download"), tab.locator("#download-json").click()]);
  const tallies = JSON.parse(readFileSync(await json.path(), "utf8"));
  assert.deepEqual(tallies.models.map((model) => model.name), ["popular", "learned"]);
  await close();
});

test("without JavaScript the page has everything but the sliders", async () => {
  const { tab, close } = await open("page.html", { javaScriptEnabled: false });
  assert.ok(await tab.locator("#figure-order svg").isVisible());
  assert.ok(await tab.getByText("The sliders need JavaScript").isVisible());
  for (const hidden of ["#controls", "#live", "#theme", "#download-json"]) assert.ok(!(await tab.locator(hidden).isVisible()), hidden);
  for (const shown of ["#standings", "#models", "#against", "#statistics", "#figure-scores svg"]) assert.ok(await tab.locator(shown).isVisible(), shown);
  await close();
});

test("on paper there is no navigation and no control", async () => {
  const { tab, close } = await open("page.html");
  await tab.emulateMedia({ media: "print" });
  for (const gone of ["nav", "#controls", "#theme"]) assert.ok(!(await tab.locator(gone).isVisible()), gone);
  assert.ok(await tab.locator("#verdict").isVisible());
  await close();
});
