/** The capture endpoint of programs as a server under measurement. */
import { join } from 'node:path';
import { freePort, type Processes, untilHealthy } from '../shared/processes';
import type { Target } from './targets';

/** An episode keeps at most 8,000,000 characters, and a request here has up to 100 KB. */
const REQUESTS_OF_EPISODE = 60;

/**
 * The capture endpoint with the worker's client of models. It asks its model server for whole answers, and makes the
 * events of a stream itself.
 */
export async function startCapture(stub: string, processes: Processes): Promise<Target> {
  const port = await freePort();
  const control = `http://127.0.0.1:${port}`;
  processes.start(process.execPath, [join(__dirname, 'capture-process.js'), stub, String(port)], {
    NODE_ENV: 'production',
  });
  await untilHealthy(control, 20);
  const open = async () => {
    const answer = await fetch(control, { method: 'POST' });
    return (await answer.json()) as { url: string; key: string };
  };
  const { url } = await open();
  return {
    ...{ name: 'capture', origin: url, path: '/v1/chat/completions', headers: {}, model: 'bench-base' },
    episodes: {
      requests: REQUESTS_OF_EPISODE,
      open: async () => ({ authorization: `Bearer ${(await open()).key}` }),
    },
  };
}
