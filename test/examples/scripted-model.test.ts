// Tier: unit (the scripted model and the program in processes of their own, no jail, no services).
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../cli/supervisor/ports';
import { projectRoot } from '../../contracts/project-root';
import { openLabelRules } from '../../examples/shared/analyst/label-rules';
import type { Turn } from '../../examples/shared/analyst/transcript';

const FOLDER = join(projectRoot(), 'examples', 'smallest-program');
const SCRIPT = join(FOLDER, 'scripted_model.py');
const rules = openLabelRules(join(FOLDER, 'analyst', 'labels.py'));
let model: ChildProcess;
let url: string;

beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}/v1`;
  model = spawn('python3', ['-I', SCRIPT, String(port), 'mine'], { stdio: 'ignore' });
  while (!(await fetch(`${url}/models`).catch(() => null))) await delay(50);
});

afterAll(() => {
  model.kill();
  rules.close();
});

interface Message {
  role: string;
  content: string | null;
  tool_calls?: object[];
}

const ask = async (body: object): Promise<{ choices: [{ message: Message }] }> => {
  const answer = await fetch(`${url}/chat/completions`, { method: 'POST', body: JSON.stringify(body) });
  return answer.json() as never;
};

/** Plays a task with the scripted model. Like a run's endpoint, it gives each request a seed. */
async function play(task_id: string, seed: number): Promise<{ reward: number; first: Message }> {
  const said: Message[] = [];
  const endpoint = createServer((request, response) => {
    void json(request)
      .then((body) => ask({ ...(body as object), seed }))
      .then((answer) => {
        said.push(answer.choices[0].message);
        response.end(JSON.stringify(answer));
      });
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  const OPENAI_BASE_URL = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;
  const program = spawn('python3', ['-I', join(FOLDER, 'agent.py')], {
    env: { PATH: process.env['PATH'], OPENAI_BASE_URL, OPENAI_API_KEY: 'key', OPENAI_MODEL: 'mine' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  program.stdin.end(JSON.stringify({ task_id, seed, max_turns: 3 }));
  const printed = await text(program.stdout);
  endpoint.close();
  return { reward: (JSON.parse(printed) as { reward: number }).reward, first: said[0]! };
}

test('it has at most 40 lines', () => {
  expect(readFileSync(SCRIPT, 'utf8').trim().split('\n').length).toBeLessThanOrEqual(40);
});

test('it lists the model that it was told to be', async () => {
  expect(await (await fetch(`${url}/models`)).json()).toMatchObject({ data: [{ id: 'mine' }] });
});

test('the same seed gets the same answer', async () => {
  const messages = [{ role: 'user', content: 'May I return parcel-001?' }];
  for (const seed of [1, 2, 3]) expect(await ask({ messages, seed })).toEqual(await ask({ messages, seed }));
});

test('it solves some tasks and fails others, and the rules tell these apart', async () => {
  const rewards = new Set<number>();
  for (const [index, task] of ['parcel-001', 'parcel-002', 'parcel-003', 'parcel-004', 'parcel-005'].entries()) {
    const { reward, first } = await play(task, index);
    const turn = { step: 2, role: 'assistant' };
    const turns: Turn[] = [
      first.tool_calls
        ? { ...turn, call: { name: 'look_up', arguments: {} }, observation: '', result: null }
        : { ...turn, text: first.content! },
    ];
    const { label, step } = await rules.judge('look-up-first', turns);
    expect([label, step]).toEqual([reward === 1 ? 'PRESENT' : 'LACKING', 2]);
    rewards.add(reward);
  }
  expect(rewards).toEqual(new Set([0, 1]));
});

test('the rules know the capability of the recorded answer, and no other', async () => {
  const known = JSON.parse(readFileSync(join(FOLDER, 'analyst', 'capabilities.json'), 'utf8')) as { id: string }[];
  const turns: Turn[] = [{ step: 2, role: 'assistant', text: 'yes' }];
  expect(known.map(({ id }) => id)).toEqual(['look-up-first']);
  expect((await rules.judge('look-up-first', turns)).label).toBe('LACKING');
  expect((await rules.judge('another', turns)).label).toBe('NA');
});
