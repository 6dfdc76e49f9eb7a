// tier: integration
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAnalystFactory } from '../../../activities/analyst/analyst-factory';
import { HttpModelClient } from '../../../activities/rollout/model-client';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import { CONVERSATIONS } from '../../../contracts/config/environment-kinds';
import { type KnownEndpoints, resolveEndpoints } from '../../../activities/endpoints/resolve-endpoints';

type Urls = { model?: string; analyst?: string };
type Worker = {
  modelApiKey?: string;
  apiKey?: string;
  analystUrl?: string;
  keyEndpoints?: string[];
  demoUrl?: string;
  isDemoOnly?: boolean;
};

const PLAYED = { path: 'env.py', trainSeeds: { start: 0, count: 1 }, heldOutSeeds: { start: 1, count: 1 } };

function resolved({ model, analyst }: Urls, worker: Worker, environment: object = PLAYED) {
  const spec = agentSpecSchema.parse({
    ...{ version: 1, name: 'desk', environment },
    model: { name: 'm', path: '/m', ...(model === undefined ? {} : { baseUrl: model }) },
    analyst: { model: 'a', ...(analyst === undefined ? {} : { baseUrl: analyst }) },
  });
  const known: KnownEndpoints = {
    modelUrl: 'http://127.0.0.1:8300/v1',
    modelPath: null,
    modelApiKey: worker.modelApiKey ?? null,
    keyEndpoints: worker.keyEndpoints ?? [],
    analyst: {
      ...{ demoUrl: worker.demoUrl ?? null, isDemoOnly: worker.isDemoOnly ?? false, model: null },
      ...{ apiKey: worker.apiKey ?? null, baseUrl: worker.analystUrl ?? null },
    },
  };
  return resolveEndpoints(spec, known, '/');
}

const KEYS = { modelApiKey: 'k1', apiKey: 'k2' };
const THEIRS = 'https://collector.example/v1';

test('conversations ask no model, so that none gets a key', () => {
  expect(
    resolved({ model: THEIRS, analyst: 'http://127.0.0.1:9/v1' }, { modelApiKey: 'k1' }, CONVERSATIONS),
  ).toMatchObject({
    ...{ modelBaseUrl: '', analystBaseUrl: 'http://127.0.0.1:9/v1' },
  });
});

describe("the worker's keys", () => {
  it.each([
    [
      'analyst',
      { analyst: THEIRS },
      /analyst\.baseUrl is https:\/\/collector\.example.*OPENAI_API_KEY.*api\.openai\.com/,
    ],
    ['model server', { model: THEIRS }, /model\.baseUrl is https:\/\/collector\.example.*WHET_MODEL_API_KEY/],
    ['analyst under another scheme', { analyst: 'http://api.openai.com/v1' }, /WHET_KEY_ENDPOINTS/],
    ['analyst at another port', { analyst: 'https://api.openai.com:444/v1' }, /WHET_KEY_ENDPOINTS/],
    ['analyst with a name that begins alike', { analyst: 'https://api.openai.com.example/v1' }, /WHET_KEY_ENDPOINTS/],
  ])('do not go where only an agent.yaml wants them: %s', (_name, urls: Urls, words) => {
    expect(() => resolved(urls, KEYS)).toThrow(words);
  });

  it('go to endpoints that the operator has named', () => {
    expect(resolved({ analyst: 'https://api.openai.com/v1' }, KEYS).analystBaseUrl).toBe('https://api.openai.com/v1');
    expect(resolved({}, KEYS).modelBaseUrl).toBe('http://127.0.0.1:8300/v1');
    const own = { ...KEYS, analystUrl: 'https://llm.corp/v1', keyEndpoints: [`${THEIRS}/`] };
    expect(resolved({ analyst: 'https://llm.corp/other', model: THEIRS }, own)).toMatchObject({
      analystBaseUrl: 'https://llm.corp/other',
      modelBaseUrl: THEIRS,
    });
    // Once there is an endpoint of one's own, OpenAI's does not get its key.
    expect(() => resolved({ analyst: 'https://api.openai.com/v1' }, own)).toThrow('llm.corp');
  });

  it('are not missed where nothing but the demo analyst is asked, and what agent.yaml names is not', () => {
    const demo = { demoUrl: 'http://127.0.0.1:8301/v1', isDemoOnly: true };
    expect(resolved({ analyst: THEIRS }, { apiKey: 'k2', ...demo })).toMatchObject({
      ...{ analystBaseUrl: 'http://127.0.0.1:8301/v1', analystModel: null },
    });
    expect(() => resolved({ analyst: THEIRS }, { isDemoOnly: true })).toThrow('There is no analyst');
  });

  it('are nobody’s concern where there are none', () => {
    expect(resolved({ analyst: THEIRS, model: THEIRS }, {})).toMatchObject({ analystBaseUrl: THEIRS });
  });
});

describe('a worker that did not prepare the run itself', () => {
  const theirs = 'https://collector.example/v1';

  it("does not send the analyst's key where the run's input wants it", () => {
    const prepared = { spec: { analyst: { baseUrl: theirs } }, analyst: { baseUrl: theirs, displayName: 'x' } };
    const factory = createAnalystFactory(null as never, 'k'.repeat(40), null, ['https://api.openai.com/v1']);
    expect(() => factory(prepared as never, { runId: 'r', agent: 'a' })).toThrow(
      expect.objectContaining({ type: 'Analyst.Unauthorised', message: expect.stringContaining(theirs.slice(0, -3)) }),
    );
  });

  it('finds the demo analyst at its new port, although agent.yaml names another one', () => {
    const analyst = { baseUrl: 'http://127.0.0.1:1/v1', model: 'rules', displayName: 'demo analyst (rules)' };
    const prepared = { spec: { analyst: { baseUrl: theirs, redact: [], redactPatterns: [] } }, analyst };
    const factory = createAnalystFactory(null as never, 'none', 'http://127.0.0.1:2/v1', []);
    expect(() => factory(prepared as never, { runId: 'r', agent: 'a' })).not.toThrow();
  });

  it("does not send the model server's key there either", async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(String(request.headers.authorization));
      if (request.method === 'POST') response.writeHead(400).end(`bad header: ${request.headers.authorization}`);
      else response.end('{"data":[]}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const [closed, open] = [['https://vllm.corp/v1'], [url]].map(
      (keyEndpoints) => new HttpModelClient({ apiKey: 'secret-key-1', keyEndpoints }),
    ) as [HttpModelClient, HttpModelClient];
    try {
      await expect(closed.models(url)).rejects.toMatchObject({ kind: 'unauthorised' });
      expect(asked).toEqual([]);
      expect(await open.models(url)).toEqual([]);
      expect(asked).toEqual(['Bearer secret-key-1']);
      // A server that repeats the key does not bring it into a message.
      const refused = open.loadAdapter(url, 'a', '/a');
      await expect(refused).rejects.toMatchObject({ message: expect.stringContaining('Bearer [key]') as string });
    } finally {
      server.closeAllConnections();
      server.close();
      await Promise.all([closed.close(), open.close()]);
    }
  });
});
