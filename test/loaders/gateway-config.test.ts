// tier: unit
import { checkGatewayConfig } from '../../loaders/gateway-config';

test('a configuration that cannot be used: the message has path, value and what is allowed', () => {
  const agents = [{ name: 'desk', baseModel: 'b', replicas: ['http://x/v1'] }];
  expect(() => checkGatewayConfig({ version: 1, agents, port: 70_000 }, 'gateway.yaml')).toThrow(
    'gateway.yaml: port: ',
  );
  expect(() => checkGatewayConfig({ version: 1, agents, host: '0.0.0.0' }, 'gateway.yaml')).toThrow(
    'Set keys, or listen on one of 127.0.0.1',
  );
  expect(() => checkGatewayConfig({ version: 1, agents: [...agents, ...agents] }, 'gateway.yaml')).toThrow(
    'agents.1.name: "desk" is there twice',
  );
  expect(() =>
    checkGatewayConfig({ version: 1, agents, keys: [{ client: 'a', sha256: 'f'.repeat(64), agents: ['x'] }] }, 'g'),
  ).toThrow('keys.0.agents: there is no agent x. Allowed: desk.');
});

test('a key that two clients have is refused, with both clients and without its hash', () => {
  const sha256 = 'f'.repeat(64);
  const keys = [
    { client: 'web', sha256 },
    { client: 'batch', sha256 },
  ];
  const agents = [{ name: 'desk', baseModel: 'b', replicas: ['http://x/v1'] }];
  expect(() => checkGatewayConfig({ version: 1, agents, keys }, 'g')).toThrow(
    /^g: keys\.1\.sha256: "batch" has the same key as "web"\. Allowed: each key once\.$/,
  );
});

// A timer of Node with a longer span ends after 1 ms.
test.each([
  ['timeouts', 'connectMs'],
  ['timeouts', 'firstByteMs'],
  ['timeouts', 'idleMs'],
  ['timeouts', 'replicaMs'],
  ['timeouts', 'requestBodyMs'],
  ['timeouts', 'unreadyMs'],
  ['timeouts', 'drainMs'],
  ['reconcile', 'everyMs'],
  ['reconcile', 'drainMs'],
  ['', 'registryPollMs'],
])('%s.%s has at most 2^31 - 1 ms', (section, field) => {
  const agents = [{ name: 'desk', baseModel: 'b', replicas: ['http://x/v1'] }];
  const check = (ms: number) =>
    checkGatewayConfig({ version: 1, agents, ...(section ? { [section]: { [field]: ms } } : { [field]: ms }) }, 'g');
  expect(() => check(2 ** 31)).toThrow(`${field}: 2147483648 is not allowed. Allowed: at most 2147483647.`);
  expect(() => check(2 ** 31 - 1)).not.toThrow();
});

describe('the settings of a router', () => {
  const check = (router?: unknown) =>
    checkGatewayConfig(
      { version: 1, agents: [{ name: 'desk', baseModel: 'b', replicas: ['http://x/v1'], router }] },
      'gateway.yaml',
    ).agents[0]?.router;

  it.each([
    ['no router', undefined, 150],
    ['no setting', {}, 150],
    ['the largest time limit', { timeoutMs: 2 ** 31 - 1 }, 2 ** 31 - 1],
  ])('%s: its defaults are filled in', (_name, router, timeoutMs) => {
    expect(check(router)).toEqual({ timeoutMs });
    // The gateway process checks again what `whet gateway` has checked.
    expect(check({ timeoutMs })).toEqual({ timeoutMs });
  });

  it.each([
    ['an unknown field', { topP: 0.9 }, '.topP: unknown field. Known here: timeoutMs.'],
    ['a time limit above 2^31 - 1 ms', { timeoutMs: 2 ** 31 }, '.timeoutMs: 2147483648 is not allowed.'],
    ['a word', 'logits', ': a text is not allowed. Allowed: the field timeoutMs.'],
  ])('%s is refused with its path and what is allowed', (_name, router, message) => {
    expect(() => check(router)).toThrow(`gateway.yaml: agents.0.router${message}`);
  });
});
