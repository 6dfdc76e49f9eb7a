/** Plays held-out tasks with the unchanged program, which finds its model behind the gateway. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { mean } from '../../activities/statistics/mean';
import { readResult } from '../../activities/rollout/program/program-result';
import { mapInParallel } from '../../activities/in-parallel';
import type { Interval } from '../../contracts/artifacts/evaluation';
import type { GatewayConfigInput } from '../../contracts/config/gateway-config';
import { playedAs } from '../../contracts/config/environment-kinds';
import { projectRoot } from '../../contracts/project-root';
import { readRegistry } from '../../store';
import { heldOutPlayed } from '../shared/held-out-played';
import { freePort, Processes, untilHealthy } from '../shared/processes';
import type { FinishedRun } from '../worlds/finished-run';
import { meanOverTasks } from '../worlds/outcome-figures';
import { withPolicyServer } from '../worlds/play-arms';
import { PROGRAM_AGENT } from './module-agent';
import { secondsOfEndedChildren } from './processor-time';

/** Programs at a time: they and the model share the processors. */
const AT_ONCE = 4;
/** How often each task is played with what is served, and with base. */
const TRIALS = 2;
/** The usual limit of a router is too short for a machine with other work, and then base answers. */
const ROUTER_MS = 5_000;

/** Pass rates with 95 % intervals over tasks. */
interface ThroughGateway {
  tasks: number;
  base: Interval;
  served: Interval;
  gain: Interval;
  /** Processor seconds of the program in an episode. */
  programSeconds: number;
}

/**
 * Plays the run's held-out tasks with what is served, and with base.
 * @param home state directory of the run.
 * @throws Error when the run promoted nothing, or a program has no result.
 */
export async function playThroughGateway(run: FinishedRun, home: string): Promise<ThroughGateway> {
  const { store, prepared, report } = run;
  const { spec } = prepared;
  const registry = await readRegistry(store, spec.name);
  const active = registry.versions.find(({ version }) => version === registry.active);
  if (active === undefined) throw new Error(`${report.runId} promoted nothing.`);
  const { seeds } = heldOutPlayed(store, report.runId, spec);
  return withPolicyServer(run, async ({ endpoints }) => {
    const processes = new Processes();
    try {
      const port = await freePort();
      const config: GatewayConfigInput = {
        version: 1,
        port,
        agents: [
          {
            ...{ name: spec.name, baseModel: spec.model.name, replicas: [endpoints.modelUrl!] },
            ...{ router: { timeoutMs: ROUTER_MS }, fallback: 'error' },
          },
        ],
      };
      const file = join(home, 'gateway.yaml');
      writeFileSync(file, JSON.stringify(config));
      processes.start(join(projectRoot(), 'whet'), ['gateway', '--config', file], { WHET_HOME: home });
      const url = `http://127.0.0.1:${port}`;
      await untilHealthy(`${url}/readyz`, 120);
      await untilServed(
        endpoints.modelUrl!,
        active.adapters.map(({ name }) => name),
      );
      const play = (model: string) => ratesOf(run, seeds, { OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: model });
      const before = secondsOfEndedChildren();
      const served = await play(spec.name);
      const base = await play(`${spec.name}@base`);
      const programSeconds = (secondsOfEndedChildren() - before) / (2 * TRIALS * seeds.length);
      const gains = served.map((rate, task) => rate - base[task]!);
      const [s, b, gain] = [served, base, gains].map((values) => meanOverTasks(values, report.seed));
      return { tasks: seeds.length, base: b!, served: s!, gain: gain!, programSeconds };
    } finally {
      await processes.end();
    }
  });
}

/** Resolves when a model server has these adapters. Rejects after two minutes. */
async function untilServed(modelUrl: string, adapters: readonly string[]): Promise<void> {
  for (let attempt = 0; attempt < 240; attempt++) {
    const { data } = (await (await fetch(`${modelUrl}/models`)).json()) as { data: { id: string }[] };
    if (adapters.every((name) => data.some(({ id }) => id === name))) return;
    await delay(500);
  }
  throw new Error(`${modelUrl} does not serve ${adapters.join(', ')}.`);
}

/** Plays each task; returns its pass rate. */
const ratesOf = (run: FinishedRun, seeds: readonly number[], variables: NodeJS.ProcessEnv): Promise<number[]> =>
  mapInParallel(seeds, AT_ONCE, new AbortController().signal, async (seed) => {
    const passes: number[] = [];
    while (passes.length < TRIALS) passes.push(await passed(run, seed, variables));
    return mean(passes);
  });

/** Runs the program as its owner would, without a jail and without the service. */
async function passed({ prepared }: FinishedRun, seed: number, variables: NodeJS.ProcessEnv): Promise<number> {
  const { environment } = prepared.spec;
  const played = playedAs(environment);
  if (!('command' in played)) throw new Error(`${PROGRAM_AGENT} has no command.`);
  const [program, ...words] = played.command;
  const child = spawn(program!, words, {
    cwd: join(PROGRAM_AGENT, '..'),
    env: { ...process.env, OPENAI_API_KEY: 'none', ...variables },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify({ task_id: String(seed), seed, max_turns: environment.maxTurns }));
  const result = readResult((await text(child.stdout)).trim().split('\n').at(-1)!);
  if ('fault' in result) throw new Error(`Task ${seed}: ${result.fault}`);
  return (result.success ?? result.reward >= environment.successReward) ? 1 : 0;
}
