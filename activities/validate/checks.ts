import type { EnvironmentCall, EnvironmentTool, OpeningMessage } from '../../contracts/environment-protocol';
import { SYNTHETIC_SEEDS } from '../../contracts/seed-ranges';
import type { EnvironmentHandle } from '../deps';
import { canonicalJson } from '../../contracts/trajectory-id';
import { CLAIM, claimThrough, clumsyCalls, type PolicyView, randomCalls, repeatTool, seededRandom } from './scripted-policies';

/** What a check found. `detail` is a sentence with the numbers, also when it passed. */
export interface CheckResult {
  passed: boolean;
  detail: string;
}

/** Numbers that decide. Shares and rewards are in [0, 1]. */
export const VALIDATION = {
  /** Tasks that the checks look at. */
  seeds: 20,
  /** Tasks that the check of diversity looks at. */
  diversitySeeds: 100,
  minDistinctOpenings: 0.9,
  minDistinctSolutions: 0.2,
  minReferenceReward: 0.99,
  maxTrivialReward: 0.2,
} as const;

const seeds = (count: number): number[] => Array.from({ length: count }, (_, index) => SYNTHETIC_SEEDS.validation + index);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const text = (value: number): string => value.toFixed(2);

let episodes = 0;

/** Opening messages of tasks; the episodes are dropped. */
export function openings(environment: EnvironmentHandle, taskSeeds: readonly number[]): Promise<OpeningMessage[][]> {
  return Promise.all(
    taskSeeds.map(async (seed) => {
      const episode = `check-${episodes++}`;
      const { messages } = await environment.reset(episode, seed);
      await environment.drop(episode);
      return messages;
    }),
  );
}

async function rewards(environment: EnvironmentHandle, scripts: readonly { seed: number; calls: EnvironmentCall[] }[]): Promise<number[]> {
  return (await Promise.all(scripts.map(({ seed, calls }) => environment.score(seed, calls)))).map(({ reward }) => reward);
}

async function views(environment: EnvironmentHandle, tools: readonly EnvironmentTool[]): Promise<(PolicyView & { seed: number })[]> {
  const taskSeeds = seeds(VALIDATION.seeds);
  const opened = await openings(environment, taskSeeds);
  return taskSeeds.map((seed, index) => ({ seed, messages: opened[index]!, tools, random: seededRandom(seed) }));
}

/** Same seed: same messages, same solutions, same rewards; twice in one process and once in another. */
export async function checkDeterminism(one: EnvironmentHandle, two: EnvironmentHandle, tools: readonly EnvironmentTool[]): Promise<CheckResult> {
  const record = async (environment: EnvironmentHandle): Promise<{ seed: number; opening: string; solution: string; rewards: string }[]> => {
    const seen = await views(environment, tools);
    const solutions = await Promise.all(seen.map(({ seed }) => environment.reference(seed)));
    const scripts = seen.flatMap((view, index) => [
      { seed: view.seed, calls: solutions[index]! },
      { seed: view.seed, calls: randomCalls(view) },
    ]);
    const earned = await rewards(environment, scripts);
    return seen.map(({ seed, messages }, index) => ({
      seed,
      opening: canonicalJson(messages),
      solution: canonicalJson(solutions[index]),
      rewards: canonicalJson(earned.slice(2 * index, 2 * index + 2)),
    }));
  };
  const [first, again, elsewhere] = [await record(one), await record(one), await record(two)];
  for (const [index, expected] of first.entries()) {
    for (const [other, where] of [
      [again[index]!, 'when asked twice'],
      [elsewhere[index]!, 'in another process'],
    ] as const) {
      const differing = (['opening', 'solution', 'rewards'] as const).find((key) => expected[key] !== other[key]);
      if (differing) {
        const what = { opening: 'opening messages', solution: 'reference solution', rewards: 'rewards of the same calls' }[differing];
        return { passed: false, detail: `Seed ${expected.seed} gives different ${what} ${where}; everything must follow from the seed alone.` };
      }
    }
  }
  return { passed: true, detail: `${first.length} tasks were the same three times in two processes.` };
}

/** Different seeds give different tasks. */
export async function checkDiversity(environment: EnvironmentHandle): Promise<CheckResult> {
  const taskSeeds = seeds(VALIDATION.diversitySeeds);
  const [opened, solutions] = await Promise.all([openings(environment, taskSeeds), Promise.all(taskSeeds.map((seed) => environment.reference(seed)))]);
  const distinct = (values: readonly unknown[]): number => new Set(values.map(canonicalJson)).size;
  const counts = { openings: distinct(opened), solutions: distinct(solutions) };
  const passed = counts.openings >= VALIDATION.minDistinctOpenings * taskSeeds.length && counts.solutions >= VALIDATION.minDistinctSolutions * taskSeeds.length;
  const found = `${taskSeeds.length} seeds gave ${counts.openings} different openings and ${counts.solutions} different solutions`;
  const needed = `; at least ${VALIDATION.minDistinctOpenings * taskSeeds.length} and ${VALIDATION.minDistinctSolutions * taskSeeds.length} are needed`;
  return { passed, detail: `${found}${passed ? '' : needed}.` };
}

/** The reference solution earns full reward on every task. */
export async function checkReference(environment: EnvironmentHandle): Promise<CheckResult> {
  const taskSeeds = seeds(VALIDATION.seeds);
  const solutions = await Promise.all(taskSeeds.map((seed) => environment.reference(seed)));
  const earned = await rewards(
    environment,
    taskSeeds.map((seed, index) => ({ seed, calls: solutions[index]! })),
  );
  const worst = earned.indexOf(Math.min(...earned));
  const passed = earned[worst]! >= VALIDATION.minReferenceReward;
  const detail = passed
    ? `The reference solution earned at least ${text(earned[worst]!)} on each of ${taskSeeds.length} tasks.`
    : `The reference solution of seed ${taskSeeds[worst]} earns ${text(earned[worst]!)} instead of 1, and ${text(mean(earned))} on average.`;
  return { passed, detail };
}

function trivialResult(policy: string, reward: number): CheckResult {
  const passed = reward <= VALIDATION.maxTrivialReward;
  return {
    passed,
    detail: `${policy} earns ${text(reward)} on average${passed ? '' : `; at most ${VALIDATION.maxTrivialReward} may be had without the skill`}.`,
  };
}

/** Doing nothing earns little. */
export async function checkNop(environment: EnvironmentHandle): Promise<CheckResult> {
  const earned = await rewards(
    environment,
    seeds(VALIDATION.seeds).map((seed) => ({ seed, calls: [] })),
  );
  return trivialResult('Doing nothing', mean(earned));
}

/** Random calls earn little. */
export async function checkRandomCalls(environment: EnvironmentHandle, tools: readonly EnvironmentTool[]): Promise<CheckResult> {
  const seen = await views(environment, tools);
  return trivialResult(
    'Calling random tools',
    mean(
      await rewards(
        environment,
        seen.map((view) => ({ seed: view.seed, calls: randomCalls(view) })),
      ),
    ),
  );
}

/** No tool earns much when it alone is called, again and again. */
export async function checkRepeatedTool(environment: EnvironmentHandle, tools: readonly EnvironmentTool[]): Promise<CheckResult> {
  const seen = await views(environment, tools);
  const byTool = await Promise.all(
    tools.map(async (tool) =>
      mean(
        await rewards(
          environment,
          seen.map((view) => ({ seed: view.seed, calls: repeatTool(tool, view) })),
        ),
      ),
    ),
  );
  const best = byTool.indexOf(Math.max(...byTool));
  return trivialResult(`Calling only ${tools[best]!.function.name}`, byTool[best]!);
}

/** Saying that all is done earns little, as text or through any tool that takes text. */
export async function checkClaim(environment: EnvironmentHandle, tools: readonly EnvironmentTool[]): Promise<CheckResult> {
  const taskSeeds = seeds(VALIDATION.seeds);
  const said = await Promise.all(
    taskSeeds.map(async (seed) => {
      const episode = `claim-${episodes++}`;
      await environment.reset(episode, seed);
      await environment.say(episode, CLAIM);
      return (await environment.evaluate(episode)).reward;
    }),
  );
  const claims = tools.map(claimThrough).filter((call) => call !== null);
  const told = await Promise.all(
    claims.map(async (call) =>
      mean(
        await rewards(
          environment,
          taskSeeds.map((seed) => ({ seed, calls: [call] })),
        ),
      ),
    ),
  );
  return trivialResult('Claiming success', Math.max(mean(said), ...told));
}

/** Clumsy calls are answered, not raised on. */
export async function checkTolerance(environment: EnvironmentHandle, tools: readonly EnvironmentTool[]): Promise<CheckResult> {
  const calls = clumsyCalls(tools);
  for (const call of calls) {
    try {
      await environment.score(SYNTHETIC_SEEDS.validation, [call]);
    } catch (error) {
      throw new Error(`The call ${JSON.stringify(call).slice(0, 200)} is not answered with an observation: ${(error as Error).message}`, { cause: error });
    }
  }
  return { passed: true, detail: `${calls.length} clumsy calls were answered.` };
}
