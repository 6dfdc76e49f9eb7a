// tier: unit
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dryRunCommand } from '../../cli/commands/dry-run';
import type { RunEstimate } from '../../cli/estimate';
import { readSettings } from '../../cli/settings';
import type { RunEnd } from '../../contracts/names';
import { layout, LocalStore } from '../../store';

const folder = mkdtempSync(join(tmpdir(), 'whet-estimate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, 'agent.yaml');
writeFileSync(join(folder, 'env.py'), '');
const agent = (analyst: string, more = '') =>
  writeFileSync(
    path,
    `version: 1
name: desk
environment: { path: env.py, trainSeeds: { start: 0, count: 100 }, heldOutSeeds: { start: 1000, count: 100 }, maxTurns: 4 }
model: { name: base, baseUrl: 'http://127.0.0.1:1/v1' }
identify: { runs: 3, maxCandidates: 5 }
analyst: ${analyst}
${more}`,
  );

async function dryRun(until?: RunEnd): Promise<{ value: RunEstimate & { overBudget: boolean }; text: string }> {
  let printed: { value: unknown; text: string } | null = null;
  const out = {
    live: false,
    line: () => undefined,
    result: (value: unknown, text: string) => void (printed = { value, text }),
    redraw: () => undefined,
  };
  await dryRunCommand({ settings: readSettings({ WHET_HOME: folder }), out }, path, until);
  return printed as unknown as { value: RunEstimate & { overBudget: boolean }; text: string };
}

const labels = ({ stages }: RunEstimate) => stages.find(({ what }) => what.startsWith('labels'))!;

test('without prices there are calls and tokens, and it says what to set', async () => {
  agent('{}');
  const { value, text } = await dryRun();
  // 100 tasks x 2 trials x 5 candidates x 3 runs.
  expect(labels(value)).toMatchObject({ calls: 3_000, promptTokens: 3_000 * (600 + 450), usd: null });
  expect(value.usd).toBeNull();
  expect(value.expectedTokens).toBeNull();
  expect(text).toContain('every labelling run, candidate and attempt that agent.yaml allows');
  expect(text).toMatch(/identify +labels, 3 runs, at most +3,000/);
  expect(text).toContain('analyst.pricePerMillionInput');
  expect(text).toContain('Nothing was started.');
});

test('experiments count their rollouts, unless there are none', async () => {
  const experiments = async () => (await dryRun()).value.stages.find(({ what }) => what.startsWith('experiments'));
  agent('{}');
  // 200 rollouts of 4 turns.
  expect(await experiments()).toMatchObject({ stage: 'identify', calls: 800, usd: null });
  const yaml = readFileSync(path, 'utf8');
  writeFileSync(path, yaml.replace('maxCandidates: 5', 'maxCandidates: 5, experimentRollouts: 0'));
  expect(await experiments()).toBeUndefined();
});

test('trainings and their probes are counted apart, and not as work of the analyst', async () => {
  const calls = ({ stages }: RunEstimate, beginning: RegExp) => stages.find(({ what }) => beginning.test(what))?.calls;
  agent('{}');
  const { value } = await dryRun();
  // 5 capabilities and the mixed adapter as long as all of them, 40 iterations of 16 rollouts, 4 turns each.
  expect(calls(value, /^trainings/)).toBe(10 * 40 * 16 * 4);
  // A probe after every tenth iteration: 8 rollouts on tasks that call for it, and 12 on others.
  expect(calls(value, /^their probes/)).toBe((5 * 4 + 20) * 32 * 4);
  agent('{}', 'training: { probeEvery: 0 }\nevaluation: { mixedAdapter: false }\n');
  const without = (await dryRun()).value;
  expect(calls(without, /^trainings/)).toBe(5 * 40 * 16 * 4);
  expect(calls(without, /^their probes/)).toBeUndefined();
  expect(without.tokens).toBe(value.tokens);
});

test('a run that ends after identification has no trainer, no training and no evaluation to pay for', async () => {
  agent('{ pricePerMillionInput: 1, pricePerMillionOutput: 4 }');
  const whole = (await dryRun()).value;
  const { value, text } = await dryRun('identify');
  expect(new Set(value.stages.map(({ stage }) => stage))).toEqual(new Set(['collect', 'identify']));
  expect(value.stages).toEqual(whole.stages.filter(({ stage }) => stage === 'collect' || stage === 'identify'));
  const [discovery, labelled] = value.stages.filter(({ usd }) => usd !== null);
  expect(value.usd).toBeCloseTo(discovery!.usd! + labelled!.usd!, 6);
  expect(value.tokens).toBeLessThan(whole.tokens);
  expect(text).toContain('no trainer is tried, and nothing is trained or evaluated');
  expect(text).not.toMatch(/Memory of a trainer|tries a trainer|held-out/);
  const yaml = readFileSync(path, 'utf8');
  writeFileSync(path, yaml.replace('{ path: env.py,', '{ kind: process, command: [python3, env.py],'));
  // 200 to learn from, and 200 of experiments.
  expect((await dryRun('identify')).value.environment).toMatchObject({ episodes: 400 });
});

test('trials that a wanted gain may add count in full', async () => {
  const arms = ({ stages }: RunEstimate) => stages.find(({ what }) => what.startsWith('base model, adapters'))!.calls;
  agent('{}', 'evaluation: { trials: 2 }\n');
  const two = await dryRun();
  agent('{}', 'evaluation: { trials: 2, detectableGain: 0.05, maxTrials: 6 }\n');
  const { value, text } = await dryRun();
  expect(arms(value)).toBe(3 * arms(two.value));
  expect(value.minimumDetectableGain).toBeLessThan(two.value.minimumDetectableGain!);
  expect(text).toContain(
    '100 held-out tasks with 2 trials each (more, up to 6, if a gain of 5.0 points needs them), proves a gain',
  );
});

test('a wanted gain within reach is what is promised: the plan adds no trials beyond it', async () => {
  const provable = async (evaluation: string) => {
    agent('{}', `evaluation: { ${evaluation} }\n`);
    return (await dryRun()).value.minimumDetectableGain!;
  };
  const [two, six] = [await provable('trials: 2'), await provable('trials: 6')];
  const wanted = Number(((two + six) / 2).toFixed(3));
  expect(await provable(`trials: 2, maxTrials: 20, detectableGain: ${wanted}`)).toBe(wanted);
  // Within reach of the least trials, and out of reach of the most.
  expect(await provable('trials: 2, maxTrials: 20, detectableGain: 0.9')).toBe(two);
  expect(await provable('trials: 2, maxTrials: 6, detectableGain: 0.001')).toBe(six);
});

test('where held-out tasks rotate, the tasks of one run count', async () => {
  agent('{}', 'evaluation: { heldOutTasks: 25 }\n');
  const { value, text } = await dryRun();
  expect(value.stages.find(({ what }) => what.startsWith('base model, adapters'))!.calls).toBe(25 * 2 * 9 * 4);
  expect(text).toContain('The evaluation, 25 held-out tasks with 2 trials each, proves a gain');
});

test('with prices there is a cost, and a budget below it is pointed out', async () => {
  agent('{ pricePerMillionInput: 1, pricePerMillionOutput: 4 }', 'budget: { usd: 1 }\n');
  const { value, text } = await dryRun();
  expect(labels(value).usd).toBeCloseTo((3_000 * 1050 + 3_000 * 80 * 4) / 1e6, 6);
  expect(value.overBudget).toBe(true);
  expect(text).toContain('more than the budget of agent.yaml ($1)');
});

test('the Batch API halves the price of labels', async () => {
  agent('{ pricePerMillionInput: 1, pricePerMillionOutput: 4, mode: batch }');
  expect(labels((await dryRun()).value).usd).toBeCloseTo((3_000 * 1050 + 3_000 * 80 * 4) / 2e6, 6);
});

test('an earlier run of the agent says how large its calls are', async () => {
  agent('{}');
  const use = {
    calls: 10,
    asks: 10,
    tries: 10,
    promptTokens: 20_000,
    cachedTokens: 5_000,
    completionTokens: 400,
    unanswered: 0,
    shortened: 0,
    redacted: {},
  };
  await new LocalStore(join(folder, 'store')).swapDocument(
    layout.analystUse('run-desk-20261121-000000-aaaa'),
    { uses: { label: use, synthesise: use }, counted: {} },
    null,
  );
  const { value, text } = await dryRun();
  expect(value.expectedTokens).toBe(40_800);
  expect(text).toContain('The last run used 40,800 tokens: expect about as many');
  expect((await dryRun('identify')).text).toContain('The identification of the last run used 20,400 tokens: expect');
  expect(labels(value)).toMatchObject({ promptTokens: 6_000_000, cachedTokens: 1_500_000, completionTokens: 120_000 });
  expect(value.basis).toContain('run-desk-20261121-000000-aaaa');
});

test.each(['{ usd: 1 }', '{ environment: { usd: 1 } }'])(
  'a budget in dollars without prices is refused with the path of the field: %s',
  async (budget) => {
    agent('{}', `budget: ${budget}\n`);
    await expect(dryRun()).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/budget\.(environment\.)?usd: 1 cannot be watched without prices/) as string,
    });
  },
);

test('simulated users and judges have a row, with the means of the last run, and a limit', async () => {
  agent('{}', 'budget: { environment: { tokens: 1000, pricePerMillionInput: 1, pricePerMillionOutput: 4 } }\n');
  expect((await dryRun()).value.environment).toBeNull();
  const yaml = readFileSync(path, 'utf8');
  writeFileSync(path, yaml.replace('{ path: env.py,', '{ kind: process, command: [python3, env.py],'));
  const key = layout.environmentUse('run-desk-20261121-000000-aaaa');
  const use = { episodes: 12, unknown: 2, promptTokens: 10_000, completionTokens: 500 };
  // Tasks that were only opened say little of what an episode costs.
  const opened = { episodes: 90, unknown: 0, promptTokens: 90, completionTokens: 90 };
  const uses = { collect: use, sharpen: opened };
  await new LocalStore(join(folder, 'store')).swapDocument(key, { uses, counted: {} }, null);
  const { value, text } = await dryRun();
  const { episodes, tokens, usd } = value.environment!;
  // 200 to learn from, 200 of experiments, 500 of routers, 200 of each of nine arms, 100 of an agent that does nothing.
  expect(episodes).toBe(200 + 200 + 500 + 9 * 200 + 100);
  expect(tokens).toBe(episodes * 1050);
  expect(usd).toBeCloseTo((episodes * (1000 + 4 * 50)) / 1e6, 6);
  expect(value.stages.at(-1)).toMatchObject({ calls: episodes, promptTokens: episodes * 1000, usd });
  expect(value.overBudget).toBe(true);
  expect(text).toContain('1,000 tokens of simulated users and judges');
});
