// Logs a person in at an address as a person would, in a browser, and prints the address that they are sent back to.
import { createRequire } from "node:module";

const require = createRequire(new URL("../../widgets/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const [address, back, name] = process.argv.slice(2);

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM });
const page = await browser.newPage();
const left = page.waitForResponse((response) => (response.headers().location ?? "").startsWith(back));
await page.goto(address);
await page.fill('input[name="login"]', name);
await page.fill('input[name="password"]', "any");
await page.click('button[type="submit"]');
await page.waitForSelector('input[name="prompt"][value="consent"]', { state: "attached" });
await Promise.all([left, page.click('button[type="submit"]').catch(() => {})]); // nobody listens where it leads
console.log((await left).headers().location);
await browser.close();
