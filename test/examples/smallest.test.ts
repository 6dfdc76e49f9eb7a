// Tier: jail (the built command in a process of its own, real jail; no services).
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { projectRoot } from '../../contracts/project-root';

const FOLDER = join(projectRoot(), 'examples', 'smallest');

const whet = (...args: string[]) =>
  spawnSync(process.execPath, [join(projectRoot(), 'dist/cli/main.js'), ...args], {
    encoding: 'utf8',
    // The weights that its agent.yaml names are on another machine.
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: 'temporal.example:7233',
      WHET_HOME: join(tmpdir(), `whet-smallest-${process.pid}`),
    },
  });

test('the smallest environment has at most 40 lines, and its reference solution succeeds', () => {
  expect(readFileSync(join(FOLDER, 'environment.py'), 'utf8').trim().split('\n').length).toBeLessThanOrEqual(40);
  const { status, stdout } = whet('env', 'run', join(FOLDER, 'environment.py'), '--seed', '3', '--reference');
  expect(stdout).toMatch(/^reward: 1$/m);
  expect(status).toBe(0);
});

test('the smallest agent is valid, and its tasks are solved by their reference solutions', () => {
  const { status, stdout } = whet('validate', join(FOLDER, 'agent.yaml'));
  expect(stdout).toContain('valid (agent parcels, its environment starts; the reference solutions of 8 train and 8');
  expect(status).toBe(0);
});

describe('the smallest program', () => {
  const PROGRAM = join(projectRoot(), 'examples', 'smallest-program', 'agent.py');

  interface Answer {
    content?: string;
    tool_calls?: object[];
  }
  const call = (args: string): Answer => ({
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'look_up', arguments: args } }],
  });

  /** Plays a task with a model that gives these answers, and returns the reward and the last request. */
  async function play(task_id: string, answers: Answer[]): Promise<{ reward: number; asked: { messages: object[] } }> {
    let asked = { messages: [] as object[] };
    const server = createServer((request, response) => {
      expect(request.url).toBe('/v1/chat/completions');
      expect(request.headers.authorization).toBe('Bearer key');
      void json(request).then((body) => {
        asked = body as typeof asked;
        response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', ...answers.shift() } }] }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const program = spawn('python3', ['-I', PROGRAM], {
      env: {
        PATH: process.env['PATH'],
        OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
        OPENAI_API_KEY: 'key',
        OPENAI_MODEL: 'm',
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    program.stdin.end(JSON.stringify({ task_id, seed: 0, max_turns: 3 }));
    const printed = await text(program.stdout);
    server.close();
    return { reward: (JSON.parse(printed) as { reward: number }).reward, asked };
  }

  test('it has at most 40 lines', () => {
    expect(readFileSync(PROGRAM, 'utf8').trim().split('\n').length).toBeLessThanOrEqual(40);
  });

  test.each([
    ['the right answer', 'parcel-001', [call('{"parcel": "parcel-001"}'), { content: 'FIRST' }], 1],
    ['the wrong answer', 'parcel-001', [call('{"parcel": "parcel-001"}'), { content: 'SECOND' }], 0],
    ['the right answer without a look', 'parcel-001', [{ content: 'FIRST' }], 0],
    ['another parcel', 'parcel-001', [call('{"parcel": "parcel-002"}'), { content: 'FIRST' }], 0],
    ['arguments that are no JSON', 'parcel-001', [call('{"par'), { content: 'FIRST' }], 0],
    ['calls without end', 'parcel-001', [call('{}'), call('{}'), call('{}'), call('{}')], 0],
  ])('%s', async (_, id, answers, reward) => {
    const script = 'import random, sys; print(random.Random(sys.argv[1]).randrange(1, 60))';
    const days = Number(spawnSync('python3', ['-c', script, id], { encoding: 'utf8' }).stdout);
    const [right, wrong] = days <= 30 ? ['Yes.', 'No.'] : ['No.', 'Yes.'];
    const said = answers.map((answer: Answer) => ({
      ...answer,
      ...(answer.content !== undefined && { content: answer.content === 'FIRST' ? right : wrong }),
    }));
    const played = await play(id, said);
    expect(played.reward).toBe(reward);
    expect(played.asked.messages.slice(0, 2)).toEqual([
      { role: 'system', content: expect.stringContaining('up to 30 days') },
      { role: 'user', content: 'May I return parcel-001?' },
    ]);
  });

  test('its agent.yaml is valid, with enough tasks for a contrast', () => {
    const { status, stdout } = whet('validate', join(PROGRAM, '..', 'agent.yaml'));
    expect(stdout).toContain(
      'valid (agent parcels-program, its environment starts; 1 train and 1 held-out tasks can be played',
    );
    expect(stdout).not.toContain('minEachOutcome');
    expect(status).toBe(0);
  });
});
