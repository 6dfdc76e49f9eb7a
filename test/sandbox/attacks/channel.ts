import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { attackInJail, expectNextEnvironmentWorks, hostileSource, openHostile, testProfile } from '../hostile';
import type { Attack } from './attack';
import { BadOutput, EnvironmentDied, EnvironmentHung } from '../../helpers/sandbox-errors';

const forge = (line: string): string => `os.write(4, ${JSON.stringify(`${line}\n`)}.encode())\nreturn "sent"`;

interface ForgedAnswer {
  name: string;
  method: 'evaluate' | 'step' | 'reset' | 'describe';
  /** JSON text, some of it no JSON on purpose. */
  result: string;
}
/** The trainer's client is held to the same answers (test/trainer-image/envs/test_answers.py). */
const FORGED = JSON.parse(readFileSync(join(__dirname, 'forged-answers.json'), 'utf8')) as {
  accepted: ForgedAnswer[];
  refused: ForgedAnswer[];
};

/** Members that write an answer to the request that is being run, before the runtime's own. */
function forgery({ method, result }: ForgedAnswer): string {
  const forge = `forge(b'{"id":%d,"result":${result}}\\n')`;
  const members: Record<ForgedAnswer['method'], string> = {
    evaluate: `@staticmethod\ndef evaluate(trajectory, task):\n    ${forge}\n    return 1.0`,
    step: `def step(self, call):\n    ${forge}\n    return {"observation": "", "done": False}`,
    reset:
      `def reset(self, seed):\n    if seed == 2:\n        ${forge}\n` +
      '    return [{"role": "user", "content": "go"}]',
    describe: `@staticmethod\ndef tools():\n    ${forge}\n    return []`,
  };
  return members[method];
}

async function askForged(forged: ForgedAnswer): Promise<unknown> {
  const environment = await openHostile(hostileSource('return "x"', forgery(forged)));
  const ask = {
    evaluate: () => environment.evaluate('e'),
    step: () => environment.step('e', [{ name: 'go', arguments: {} }]),
    reset: () => environment.reset('again', 2),
    describe: () => environment.describe(),
  };
  try {
    return await ask[forged.method]().catch((thrown: unknown) => thrown);
  } finally {
    await environment.close();
  }
}

const NOT_RUN = '{"error":{"type":"NotRun","message":"x","traceback":null}}';

/** Two requests of one turn leave as one batch; the environment answers it before the runtime does. */
async function expectBatchRefused(line: string): Promise<void> {
  const environment = await openHostile(hostileSource(`forge(b'${line}\\n')\nreturn "x"`), testProfile(5_000));
  const step = () => environment.step('e', [{ name: 'go', arguments: {} }]).catch((thrown: unknown) => thrown);
  for (const outcome of await Promise.all([step(), step()])) expect(outcome).toBeInstanceOf(BadOutput);
  await environment.close();
  await expectNextEnvironmentWorks();
}

/** The two descriptors that carry requests and responses. */
export const CHANNEL: readonly Attack[] = [
  {
    name: 'a response to another request',
    body: forge('{"id":999,"result":{"observations":["forged"],"done":true}}'),
    expected: BadOutput,
  },
  {
    name: 'a response to no request',
    body: forge('{"id":null,"error":{"type":"BadRequest","message":"x","traceback":null}}'),
    expected: BadOutput,
  },
  {
    name: 'a response that comes later, unasked',
    run: async () => {
      const environment = await openHostile(
        hostileSource('threading.Timer(0.02, os.write, (4, b\'{"id":3,"result":{}}\\n\')).start()\nreturn "later"'),
      );
      await environment.step('e', [{ name: 'go', arguments: {} }]);
      while (environment.alive) await new Promise((resolve) => setTimeout(resolve, 5));
      await expect(environment.evaluate('e')).rejects.toBeInstanceOf(BadOutput);
      await environment.close();
      await expectNextEnvironmentWorks();
    },
  },
  // The control of those below: a forgery arrives, and it is its content that is refused.
  ...FORGED.accepted.map((forged) => ({
    name: `${forged.name}, forged within the schema, is taken`,
    run: async () => expect(await askForged(forged)).toEqual(JSON.parse(forged.result)),
  })),
  ...FORGED.refused.map((forged) => ({
    name: forged.name,
    run: async () => {
      expect(await askForged(forged)).toBeInstanceOf(BadOutput);
      await expectNextEnvironmentWorks();
    },
  })),
  { name: 'text that is not JSON', body: forge('hello'), expected: BadOutput },
  { name: 'bytes that are not UTF-8', body: 'os.write(4, b"\\xff\\xfe\\n")', expected: BadOutput },
  {
    name: 'a response that nests 200,000 deep',
    body: 'os.write(4, b"[" * 200000 + b"\\n")\ntime.sleep(1)',
    expected: BadOutput,
  },
  {
    name: 'a pickle instead of JSON',
    body: 'import pickle\nos.write(4, pickle.dumps(print) + b"\\n")\nreturn "sent"',
    expected: BadOutput,
  },
  {
    name: 'an error of an unknown type',
    body: forge('{"id":3,"error":{"type":"Sandbox.Unavailable","message":"x","traceback":null}}'),
    expected: BadOutput,
  },
  {
    name: 'an error message of a million characters',
    body:
      `os.write(4, b'{"id":3,"error":{"type":"BadReturn","message":"' + b"x" * 1000000 + ` +
      `b'","traceback":null}}\\n')`,
    expected: BadOutput,
  },
  {
    name: 'a batch that says nothing was run, for ever',
    run: () => expectBatchRefused(`{"id":%d,"result":{"results":[${NOT_RUN},${NOT_RUN}]}}`),
  },
  {
    name: 'a line that says it was not run, for ever',
    // It reads the requests itself, so that the runtime's own answer never comes between.
    body: `
answer = b'{"id":%d,${NOT_RUN.slice(1, -1)}}\\n'
forge(answer)
while line := os.read(3, 1 << 20):
    os.write(4, answer % int(line.split(b":")[1].split(b",")[0]))`,
    expected: BadOutput,
  },
  {
    name: 'a prototype in a forged answer',
    run: async () => {
      await attackInJail(forge('{"id":3,"result":{"__proto__":{"polluted":true},"observations":["x"],"done":false}}'));
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    },
  },
  { name: 'closing the response channel', body: 'os.close(4)\nreturn "closed"', expected: EnvironmentDied },
  { name: 'closing the request channel', body: 'os.close(3)\nreturn "closed"', expected: 'closed' },
  {
    name: 'the log in place of the response channel',
    body: 'os.dup2(2, 4)\nreturn "lost"',
    expected: EnvironmentHung,
    requestMs: 1_000,
  },
  { name: 'prints into the response channel', body: 'os.dup2(4, 1)\nprint("hello")\nreturn "x"', expected: BadOutput },
  {
    name: 'zeros without end in place of the request channel',
    run: async () => {
      const environment = await openHostile(
        hostileSource('os.dup2(os.open("/dev/zero", os.O_RDONLY), 3)\nreturn "zeros"'),
      );
      expect((await environment.step('e', [{ name: 'go', arguments: {} }])).observations).toEqual(['zeros']);
      await expect(environment.step('e', [{ name: 'go', arguments: {} }])).rejects.toBeInstanceOf(EnvironmentDied);
      await environment.close();
      await expectNextEnvironmentWorks();
    },
  },
  {
    name: 'reading the next request itself',
    run: async () => {
      const environment = await openHostile(
        hostileSource('threading.Thread(target=lambda: os.read(3, 1 << 20), daemon=True).start()\nreturn "thief"'),
        testProfile(1_000),
      );
      await environment.step('e', [{ name: 'go', arguments: {} }]);
      const error = await (async () => {
        for (let step = 0; step < 3; step++) await environment.step('e', [{ name: 'go', arguments: {} }]);
        return null;
      })().catch((thrown: unknown) => thrown);
      expect(error === null || error instanceof EnvironmentHung || error instanceof EnvironmentDied).toBe(true);
      await environment.close();
      await expectNextEnvironmentWorks();
    },
  },
  {
    name: 'a response channel that does not block',
    body: 'os.set_blocking(4, False)\nreturn "x" * 60000',
    expected: [/^x+$/, EnvironmentDied, EnvironmentHung],
    requestMs: 2_000,
  },
];
