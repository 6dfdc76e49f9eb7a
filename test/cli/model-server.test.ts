// tier: unit
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { modelServerLines, modelServerProblem } from '../../cli/model-server';
import { agentSpecSchema } from '../../contracts/config/agent-spec';

/** The answer of the server, and the keys that it got. */
let answer: { status: number; text: string } | null = null;
const keys: (string | undefined)[] = [];
let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    keys.push(request.headers.authorization);
    if (answer !== null) response.writeHead(answer.status).end(answer.text);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
afterEach(() => {
  delete process.env['WHET_MODEL_API_KEY'];
  delete process.env['WHET_KEY_ENDPOINTS'];
});

const listing = (...names: string[]) => ({ status: 200, text: JSON.stringify({ data: names.map((id) => ({ id })) }) });

/** An agent with the model `base` of the server at this address. */
const specAt = (baseUrl?: string) =>
  agentSpecSchema.parse({
    ...{ version: 1, name: 'desk' },
    environment: { path: 'e.py', trainSeeds: { start: 0, count: 4 }, heldOutSeeds: { start: 9, count: 4 } },
    model: baseUrl === undefined ? { name: 'base', path: 'weights' } : { name: 'base', path: 'weights', baseUrl },
  });
const problemAt = (baseUrl?: string) => modelServerProblem(specAt(baseUrl));

test('a server that serves the model has no problem, and an agent without one is not asked', async () => {
  answer = listing('other', 'base');
  expect(await problemAt(`${origin}/v1`)).toBeNull();
  expect(await problemAt()).toBeNull();
});

test('a server that does not answer is named, with the field, the reason and what to do', async () => {
  answer = null;
  const isSilent = { status: 'not reachable', text: expect.stringContaining('(no answer within 2 s)') as string };
  expect(await problemAt(`${origin}/v1`)).toEqual(isSilent);
  expect((await problemAt('http://127.0.0.1:9/v1'))?.text).toBe(
    'model.baseUrl: the model server at http://127.0.0.1:9/v1 does not answer this machine (ECONNREFUSED). A run ' +
      'waits in its first checks until it does. Start it, or correct the address.',
  );
});

test('an answer without an end, and a name that a terminal obeys, do no harm', async () => {
  answer = { status: 200, text: '['.repeat(30_000_000) };
  expect(await problemAt(`${origin}/v1`)).toMatchObject({ status: 'no model list' });
  answer = listing(`a\u001b[2J${'b'.repeat(1_000)}`);
  const { text } = (await problemAt(`${origin}/v1`))!;
  expect(text).not.toContain('\u001b');
  expect(text.length).toBeLessThan(400);
});

test('a server of other models, and one that is no model server, are told apart', async () => {
  answer = listing('a', 'b', 'c', 'd', 'e', 'f', 'g');
  expect(await problemAt(`${origin}/v1`)).toEqual({
    status: 'other model',
    text: expect.stringContaining('does not serve base; it serves a, b, c, d, e and 2 more.') as string,
  });
  answer = { status: 200, text: '<html>' };
  expect((await problemAt(origin))?.text).toMatch(/^model\.baseUrl: .*\/models does not answer with a list of models/);
  answer = { status: 503, text: JSON.stringify({ data: [] }) };
  expect((await problemAt(origin))?.text).toContain('(status 503)');
});

test('the key goes only to a server that may have it, and one that refuses a request without it is not blamed', async () => {
  answer = { status: 401, text: '{}' };
  process.env['WHET_MODEL_API_KEY'] = 'key of the test';
  keys.length = 0;
  expect(await problemAt(`${origin}/v1`)).toBeNull();
  process.env['WHET_KEY_ENDPOINTS'] = `https://models.example ${origin}`;
  answer = listing('base');
  expect(await problemAt(`${origin}/v1`)).toBeNull();
  expect(keys).toEqual([undefined, 'Bearer key of the test']);
});

test('the table of services has a row for the server that agent.yaml names', async () => {
  const linesAt = (baseUrl?: string) => modelServerLines({ path: '/desk/agent.yaml', spec: specAt(baseUrl) });
  answer = listing('base');
  expect(await linesAt(`${origin}/v1`)).toEqual([`model server         ready      ${origin}/v1`]);
  expect(await linesAt('http://127.0.0.1:9/v1')).toEqual([
    'model server         not reachable http://127.0.0.1:9/v1',
    expect.stringMatching(/^\/desk\/agent\.yaml: model\.baseUrl: .*Start it, or correct the address\.$/),
  ]);
  expect(await linesAt()).toEqual([]);
  expect(await modelServerLines(null)).toEqual([]);
});
