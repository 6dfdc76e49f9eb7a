/** A client of Chromium's DevTools protocol over Node's own WebSocket, as small as screenshots allow. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** A page of a headless browser. */
export interface BrowserPage {
  /** Sends a command to the page and resolves with its result. Rejects with the browser's message. */
  send(method: string, params?: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Ends the browser and removes its profile. */
  close(): Promise<void>;
}

interface Reply {
  id?: number;
  result?: Record<string, unknown>;
  error?: { message: string };
}

const FLAGS = [
  '--headless',
  // Chromium's own sandbox needs user namespaces, which containers lack; the pages are our own.
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--hide-scrollbars',
  '--remote-debugging-port=0',
];

/**
 * Starts the browser with an empty profile and opens a blank page.
 * @throws Error when the browser does not start or does not answer within 30 s.
 */
export async function openBrowser(executable = 'chromium'): Promise<BrowserPage> {
  const profile = await mkdtemp(join(tmpdir(), 'whet-browser-'));
  const browser = spawn(executable, [...FLAGS, `--user-data-dir=${profile}`, 'about:blank'], { stdio: 'ignore' });
  const ended = new Promise<never>((_, reject) => {
    browser.once('error', (error) =>
      reject(
        new Error(
          `${executable} could not be started (${error.message}): install Chromium or set CHROMIUM to its path.`,
        ),
      ),
    );
    browser.once('exit', (code) => reject(new Error(`${executable} ended with code ${code}.`)));
  });
  ended.catch(() => undefined);
  try {
    const port = await Promise.race([ended, debuggingPort(profile)]);
    const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
      type: string;
      webSocketDebuggerUrl: string;
    }[];
    const target = targets.find(({ type }) => type === 'page');
    if (!target) throw new Error(`${executable} opened no page.`);
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', () => reject(new Error('The connection to the browser failed.')), {
        once: true,
      });
    });
    return { send: sender(socket), close: () => end(browser, profile) };
  } catch (error) {
    await end(browser, profile);
    throw error;
  }
}

function sender(socket: WebSocket): BrowserPage['send'] {
  const waiting = new Map<
    number,
    { resolve: (value: Record<string, unknown>) => void; reject: (error: Error) => void }
  >();
  let last = 0;
  socket.addEventListener('message', ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply;
    const call = waiting.get(reply.id ?? -1);
    if (!call) return;
    waiting.delete(reply.id as number);
    if (reply.error) call.reject(new Error(reply.error.message));
    else call.resolve(reply.result ?? {});
  });
  return (method, params = {}) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ id, method, params }));
    });
}

async function debuggingPort(profile: string): Promise<number> {
  for (let attempt = 0; attempt < 300; attempt++) {
    const text = await readFile(join(profile, 'DevToolsActivePort'), 'utf8').catch(() => '');
    const port = Number(text.split('\n')[0]);
    if (port > 0) return port;
    await delay(100);
  }
  throw new Error('The browser opened no debugging port within 30 s.');
}

async function end(browser: ReturnType<typeof spawn>, profile: string): Promise<void> {
  if (browser.exitCode === null && browser.signalCode === null) {
    const gone = new Promise((resolve) => browser.once('exit', resolve));
    browser.kill('SIGKILL');
    await gone;
  }
  // Child processes of the browser may still write for a moment.
  await rm(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
