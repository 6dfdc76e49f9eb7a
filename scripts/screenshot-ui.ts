/**
 * Takes a screenshot of a running server's page: `node dist/scripts/screenshot-ui.js URL OUT.png [SECONDS]` waits until
 * the page's text has not changed for two seconds (at most SECONDS, default 30) and writes a window of 1440 x 1200
 * pixels. Chromium is taken from CHROMIUM or the PATH.
 */
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BrowserPage, openBrowser } from './devtools';

const WINDOW = { width: 1440, height: 1200, deviceScaleFactor: 1, mobile: false };
const STILL_MS = 2_000;

async function main([url, out, seconds = '30']: string[]): Promise<number> {
  if (!url || !out) {
    console.error('usage: node dist/scripts/screenshot-ui.js URL OUT.png [SECONDS]');
    return 2;
  }
  const page = await openBrowser(process.env.CHROMIUM ?? 'chromium');
  try {
    await page.send('Page.enable');
    await page.send('Emulation.setDeviceMetricsOverride', WINDOW);
    await page.send('Page.navigate', { url });
    const words = await untilStill(page, Number(seconds) * 1_000);
    const shot = await page.send('Page.captureScreenshot');
    await writeFile(out, Buffer.from(String(shot.data), 'base64'));
    console.log(`${out}: ${words} words`);
    return words > 0 ? 0 : 1;
  } finally {
    await page.close();
  }
}

/**
 * Resolves with the number of words on the page, once its text no longer changes. A page that scripts fill has no
 * moment at which it is complete.
 */
async function untilStill(page: BrowserPage, limitMs: number): Promise<number> {
  let [last, since] = ['', Date.now()];
  for (const end = Date.now() + limitMs; Date.now() < end; await sleep(250)) {
    const { result } = (await page.send('Runtime.evaluate', {
      expression: 'document.body.innerText',
      returnByValue: true,
    })) as { result: { value?: string } };
    const text = result.value ?? '';
    if (text !== last) [last, since] = [text, Date.now()];
    if (text.trim() !== '' && Date.now() - since > STILL_MS) break;
  }
  return last.split(/\s+/).filter(Boolean).length;
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
