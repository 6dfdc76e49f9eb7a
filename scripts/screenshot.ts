/**
 * Inspects a report: `node dist/scripts/screenshot.js REPORT.html OUT` writes full-page screenshots (light and dark,
 * wide and phone) to the directory OUT. It prints each problem that it finds: text that overlaps or leaves its plot, a
 * page wider than the window, a plot without marks, a figure without a link to its artifact. Exit code 1 when there is
 * a problem. Chromium is taken from CHROMIUM or the PATH.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BrowserPage, openBrowser } from './devtools';

const SIZES = [
  { name: 'wide', width: 1280 },
  { name: 'phone', width: 390 },
];
const THEMES = ['light', 'dark'];

/** A script that runs in the page and returns a sentence for each problem. */
const INSPECTION = `(() => {
  const problems = [];
  const shown = (e) => e.getClientRects().length > 0;
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) problems.push('The page is ' + width + ' px wide in a window of ' + innerWidth + ' px.');
  for (const svg of [...document.querySelectorAll('svg[role=img]')].filter(shown)) {
    const name = (svg.closest('figure')?.id ?? '?') + ': ' + svg.getAttribute('aria-label').slice(0, 60);
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')]
      .filter((t) => t.textContent.trim())
      .map((t) => ({ t, box: t.getBoundingClientRect() }));
    for (const { t, box } of texts) {
      const beside = box.left < frame.left - 1 || box.right > frame.right + 1;
      const aboveOrBelow = box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
      if (beside || aboveOrBelow) problems.push(name + ': "' + t.textContent + '" leaves the plot.');
      if (box.height < 8) problems.push(name + ': "' + t.textContent + '" is ' + box.height.toFixed(1) + ' px high.');
    }
    texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
      const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      if (x > 1 && y > 3) problems.push(name + ': "' + a.t.textContent + '" and "' + b.t.textContent + '" overlap.');
    }));
    if (!svg.querySelector('circle, rect:not(.region), path')) problems.push(name + ' has no marks.');
  }
  for (const figure of document.querySelectorAll('figure')) {
    if (!figure.querySelector('.source a')) problems.push(figure.id + ' links to no artifact.');
  }
  return problems;
})()`;

async function main([report, out]: string[]): Promise<number> {
  if (!report || !out) {
    console.error('usage: node dist/scripts/screenshot.js REPORT.html OUT');
    return 2;
  }
  await mkdir(out, { recursive: true });
  const page = await openBrowser(process.env.CHROMIUM ?? 'chromium');
  let problems = 0;
  try {
    await page.send('Page.enable');
    for (const size of SIZES) {
      for (const theme of THEMES) {
        const found = await look(page, report, size.width, theme, join(out, `report-${size.name}-${theme}.png`));
        found.forEach((problem) => console.log(`${size.name}, ${theme}: ${problem}`));
        problems += found.length;
      }
    }
  } finally {
    await page.close();
  }
  console.log(`${SIZES.length * THEMES.length} screenshots in ${resolve(out)}, ${problems} problems`);
  return problems === 0 ? 0 : 1;
}

async function look(page: BrowserPage, report: string, width: number, theme: string, file: string): Promise<string[]> {
  await page.send('Emulation.setDeviceMetricsOverride', {
    width,
    height: 900,
    deviceScaleFactor: 1,
    mobile: width < 500,
  });
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: theme }] });
  await page.send('Page.navigate', { url: pathToFileURL(resolve(report)).href });
  const ready =
    "new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', () => done()))";
  await page.send('Runtime.evaluate', { expression: ready, awaitPromise: true });
  const { result } = (await page.send('Runtime.evaluate', { expression: INSPECTION, returnByValue: true })) as {
    result: { value?: string[] };
  };
  const shot = await page.send('Page.captureScreenshot', { captureBeyondViewport: true });
  await writeFile(file, Buffer.from(String(shot.data), 'base64'));
  return result.value ?? ['The page could not be inspected.'];
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
