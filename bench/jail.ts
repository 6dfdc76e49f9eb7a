/**
 * Measures what the jail costs, and how it holds up under attack:
 *
 * - the start until the environment is loaded, jailed and bare (same interpreter, files and pipes), in turns;
 * - the round trip of one step, in one jail, in a process per step, and inside a Python process;
 * - 64 episodes in one jail, and 64 jails at once;
 * - the step time of an honest episode while other jails attack, divided by its time right before and after.
 *
 * Times are medians in milliseconds. The limits are in docs/explanations/sandbox.md. The last line is JSON.
 *
 *     node dist/bench/jail.js [--starts 60] [--steps 4000] [--window 200] [--attackers 1] [--skip-attacks]
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { EnvironmentPool, loadProfile, probeJail } from '../sandbox';
import { HONEST } from './jail/environments';
import { type StartKind, startRuntime } from './jail/start-runtime';
import { concurrentSteps, inProcessStep, processPerStep, stepTimes } from './jail/step-times';
import { type AttackResult, underAttack } from './jail/under-attack';
import { percentile } from './shared/percentile';

const EPISODES = 64;
const loaded = loadProfile();
const round = (value: number, digits = 3) => Number(value.toFixed(digits));
const p50 = (values: readonly number[]) => round(percentile(values, 0.5));

async function starts(count: number): Promise<Record<StartKind, number[]>> {
  const times: Record<StartKind, number[]> = { jail: [], bare: [] };
  for (let turn = 0; turn < count; turn++) {
    for (const kind of turn % 2 === 0 ? (['jail', 'bare'] as const) : (['bare', 'jail'] as const)) {
      const began = performance.now();
      const environment = await startRuntime(kind, HONEST, loaded);
      times[kind].push(performance.now() - began);
      await environment.close();
    }
  }
  return times;
}

/** Times to open an environment in a jail that was started ahead. */
async function warmStarts(count: number): Promise<number[]> {
  const pool = new EnvironmentPool();
  const times: number[] = [];
  const open = () => pool.open({ source: HONEST, trust: 'synthesised', name: 'warm' });
  await (await open()).close();
  for (let turn = 0; turn < count; turn++) {
    // As after a pause in the service's work, the jail has started and has imported what it needs.
    while (pool.size === 0) await delay(5);
    await delay(100);
    const began = performance.now();
    const environment = await open();
    times.push(performance.now() - began);
    await environment.close();
  }
  await pool.close();
  return times;
}

async function manyJails(): Promise<{ startMs: number; stepP50Ms: number }> {
  const began = performance.now();
  const environments = await Promise.all(Array.from({ length: EPISODES }, () => startRuntime('jail', HONEST, loaded)));
  const startMs = performance.now() - began;
  const times = await Promise.all(environments.map((environment) => stepTimes(environment, 20)));
  await Promise.all(environments.map((environment) => environment.close()));
  return { startMs: round(startMs, 0), stepP50Ms: p50(times.flat()) };
}

/** Steps of an honest environment beside each kind of attacker, printed as they are measured. */
async function attackedSteps(steps: number, attackers: number): Promise<AttackResult[]> {
  const attacks = await underAttack(loaded, { steps, paceMs: 2, attackers });
  for (const { attack, idleP50Ms, p50Ms, p99Ms, attackers: used } of attacks) {
    console.log(
      `${attack.padEnd(46)} idle ${idleP50Ms.toFixed(3)}  under attack ${p50Ms.toFixed(3)} ` +
        `(p99 ${p99Ms.toFixed(2)})  x ${(p50Ms / idleP50Ms).toFixed(2)}  ${used} jails`,
    );
  }
  return attacks;
}

/** The worst and the median slowdown under attack, and the worst p99 in milliseconds. */
function attackFigures(attacks: AttackResult[]) {
  const ratios = attacks.map(({ p50Ms, idleP50Ms }) => p50Ms / idleP50Ms);
  return {
    attackedRatioWorst: round(Math.max(...ratios), 2),
    attackedRatioMedian: round(percentile(ratios, 0.5), 2),
    attackedP99Ms: round(Math.max(...attacks.map(({ p99Ms }) => p99Ms)), 2),
  };
}

async function main(): Promise<void> {
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    options: {
      starts: string('60'),
      steps: string('4000'),
      window: string('200'),
      attackers: string('1'),
      'skip-attacks': { type: 'boolean', default: false },
    },
  });
  const probe = await probeJail(loaded);
  if (!probe.ok) throw new Error(`There is no jail to measure here. ${probe.missing.join(' ')}`);
  console.log(
    `load average before: ${loadavg()[0]!.toFixed(2)} on ${cpus().length} cores; control groups: ${probe.cgroup}`,
  );

  const { jail, bare } = await starts(Number(values.starts));
  for (const [kind, times] of Object.entries({ jailed: jail, bare })) {
    console.log(
      `start ${kind}: p10 ${round(percentile(times, 0.1))}, p50 ${p50(times)}, p90 ${round(percentile(times, 0.9))}`,
    );
  }

  const warm = await warmStarts(20);
  console.log(`start out of a waiting jail: ${p50(warm)}`);

  const environment = await startRuntime('jail', HONEST, loaded);
  await stepTimes(environment, 1_000);
  const steps = await stepTimes(environment, Number(values.steps));
  const together = await concurrentSteps(environment, EPISODES, 100);
  await environment.close();
  if (together.wrong > 0) throw new Error(`${together.wrong} steps were answered with another episode's state.`);
  const inProcessP50Ms = await inProcessStep();
  console.log(
    `step: jailed ${p50(steps)} (p99 ${round(percentile(steps, 0.99))}), ` +
      `inside a Python process ${round(inProcessP50Ms, 5)}`,
  );
  console.log(
    `${EPISODES} episodes in one jail: ${Math.round(together.perSecond)} steps/s, p50 ${p50(together.times)}`,
  );

  const perStep: number[] = [];
  for (let turn = 0; turn < 20; turn++) perStep.push(await processPerStep(loaded));
  const many = await manyJails();
  console.log(
    `one process per step: ${p50(perStep)}; ` +
      `${EPISODES} jails at once: all up after ${many.startMs}, then ${many.stepP50Ms} a step`,
  );

  const attackers = Number(values.attackers);
  const attacks = values['skip-attacks'] ? [] : await attackedSteps(Number(values.window), attackers);
  console.log(
    JSON.stringify({
      name: 'jail',
      cores: cpus().length,
      load: round(loadavg()[0]!, 2),
      cgroup: probe.cgroup,
      startP50Ms: p50(jail),
      bareStartP50Ms: p50(bare),
      // The least disturbed by other work on the machine.
      startP10Ms: round(percentile(jail, 0.1)),
      bareStartP10Ms: round(percentile(bare, 0.1)),
      addedP50Ms: round(p50(jail) - p50(bare)),
      warmStartP50Ms: p50(warm),
      stepP50Ms: p50(steps),
      stepP99Ms: round(percentile(steps, 0.99)),
      inProcessStepP50Ms: round(inProcessP50Ms, 5),
      processPerStepP50Ms: p50(perStep),
      episodes64: { stepsPerSecond: Math.round(together.perSecond), stepP50Ms: p50(together.times) },
      jails64: many,
      ...(attacks.length > 0 && { ...attackFigures(attacks), attackers }),
    }),
  );
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
