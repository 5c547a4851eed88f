// SPDX-License-Identifier: Apache-2.0
// Opens a site in the installed Chromium without a network, clicks as a reader does, and prints
// what it saw as JSON. Arguments: playwright-core, the browser, the site, a session.
"use strict";
const [, , library, browserPath, site, session] = process.argv;
const { chromium } = require(library);

async function main() {
  const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
  const context = await browser.newContext({ offline: true, viewport: { width: 1024, height: 768 } });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => { if (message.type() === "error") faults.push(message.text()); });
  // A file that the reader no longer waits for, having gone to another page, is aborted.
  page.on("requestfailed", (request) => { if (request.failure().errorText !== "net::ERR_ABORTED") faults.push(request.url()); });
  const seen = { faults };

  await page.goto(`file://${site}/index.html`);
  const rows = () => page.$$eval("tr[data-session]", (all) => all.filter((row) => row.offsetParent).map((row) => row.dataset.session));
  seen.rows = await rows();
  seen.hurt = await page.evaluate(() => window.hurt === undefined);
  seen.labels = await page.$$eval("tr[data-session] .marks", (all) => all.every((cell) => cell.offsetParent && cell.innerText.includes("SIMULATED")));
  seen.wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  await page.click('[data-board] button[data-metric="latency_total"]');
  seen.byLatency = await rows();
  seen.heads = await page.$$eval("[data-board] thead th", (all) => all.filter((one) => one.offsetParent).map((one) => one.innerText));
  await page.selectOption("#by-label", "SIMULATED");
  seen.simulated = await rows();
  await page.selectOption("#by-device", "virtual device");
  seen.others = await rows();
  seen.count = await page.innerText("#count");
  seen.hash = await page.evaluate(() => location.hash);
  await page.click('button[type="reset"]');
  await page.waitForFunction(() => document.getElementById("count").textContent.startsWith("3"));
  seen.reset = await rows();

  await page.click(`a[href="sessions/${session}/index.html"]`);
  const drawn = () => page.$eval("[data-chart]", (chart) => ({ view: chart.dataset.view.split(" ").map(Number), width: Number(chart.dataset.width), columns: Number(chart.dataset.columns) }));
  const changed = async (action) => {
    const before = JSON.stringify(await drawn());
    await action();
    await page.waitForFunction((old) => {
      const { view, width, columns } = document.querySelector("[data-chart]").dataset;
      return JSON.stringify({ view: view.split(" ").map(Number), width: Number(width), columns: Number(columns) }) !== old;
    }, before);
    return drawn();
  };
  await page.waitForSelector("[data-chart][data-view]");
  await page.$eval("#trace", (section) => section.scrollIntoView());
  seen.whole = await drawn();
  seen.inked = await page.$eval("canvas", (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, at) => at % 4 === 3 && value > 0).length;
  });
  const box = await (await page.$(".u-over")).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  seen.wheel = await changed(() => page.mouse.wheel(0, -100));
  seen.readout = await page.innerText("[data-readout]");
  seen.dragged = await changed(async () => {
    await page.mouse.move(box.x + 100, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + 200, box.y + 60, { steps: 4 });
    await page.mouse.up();
  });
  for (let turn = 0; turn < 60; turn++) {
    const now = await drawn();
    if (now.width === 1) break;
    await page.mouse.wheel(0, -300);
    await page.waitForTimeout(30);
  }
  seen.close = await drawn();
  seen.tiles = await page.$$eval('script[src^="tiles/"]', (all) => all.map((one) => one.getAttribute("src")));
  seen.all = await changed(() => page.click('[data-view="all"]'));
  seen.window = await changed(() => page.click('[data-view="window"]'));
  await page.click('[data-view="log"]');
  seen.log = await page.getAttribute('[data-view="log"]', "aria-pressed");
  await page.selectOption("[data-trace]", "1");
  await page.waitForFunction((length) => document.querySelector("[data-chart]").dataset.view.startsWith("0 "), 0);
  seen.second = await drawn();

  await page.setViewportSize({ width: 390, height: 844 });
  seen.phone = {};
  for (const place of [`sessions/${session}/index.html`, "index.html"]) {
    await page.goto(`file://${site}/${place}`);
    seen.phone[place] = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  }
  seen.phoneVerdicts = await page.$$eval("tr[data-session] td.state", (all) => all.map((cell) => cell.offsetParent ? cell.innerText : ""));
  await page.goto(`file://${site}/sessions/${session}/index.html`);
  await page.waitForSelector("[data-chart][data-view]");
  seen.phoneGap = await page.$eval("[data-chart]", (chart) => chart.clientHeight - chart.firstElementChild.clientHeight);
  console.log(JSON.stringify(seen));
  await browser.close();
}

main().catch((error) => { console.error(error); process.exit(1); });
