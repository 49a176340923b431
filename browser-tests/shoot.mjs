// Pictures of a page: node shoot.mjs PAGE.html FOLDER
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";
import { LAUNCH } from "./browser.mjs";
const [page, folder] = process.argv.slice(2);
const browser = await chromium.launch(LAUNCH);
for (const [name, colorScheme, width] of [["light", "light", 1200], ["dark", "dark", 1200], ["phone", "light", 390]]) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 }, deviceScaleFactor: name === "phone" ? 2 : 1 });
  const tab = await context.newPage();
  tab.on("console", (message) => console.log(name, message.type(), message.text()));
  tab.on("pageerror", (error) => console.log(name, String(error)));
  await tab.goto(pathToFileURL(page).href);
  await tab.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
  console.log(name, await tab.evaluate(() => [document.documentElement.scrollWidth, innerWidth]));
}
await browser.close();
