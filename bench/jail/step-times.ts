import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { EnvironmentProcess, LoadedProfile } from '../../sandbox';
import { pythonInterpreter } from '../../sandbox/python-interpreter';
import { CALL, HONEST } from './environments';
import { startRuntime } from './start-runtime';

/** The runtime ends an episode after a thousand steps. */
const STEPS_OF_AN_EPISODE = 900;

/** Times of single steps of one episode after another, in milliseconds. */
export async function stepTimes(environment: EnvironmentProcess, count: number, paceMs = 0): Promise<number[]> {
  const times: number[] = [];
  for (let step = 0; step < count; step++) {
    const episode = `steps-${Math.floor(step / STEPS_OF_AN_EPISODE)}`;
    if (step % STEPS_OF_AN_EPISODE === 0) await environment.reset(episode, step);
    const began = performance.now();
    await environment.step(episode, [CALL]);
    times.push(performance.now() - began);
    if (step % STEPS_OF_AN_EPISODE === STEPS_OF_AN_EPISODE - 1 || step === count - 1) await environment.drop(episode);
    if (paceMs > 0) await new Promise((resolve) => setTimeout(resolve, paceMs));
  }
  return times;
}

/** Steps per second of many episodes at once in one process, and the times of the single steps. */
export async function concurrentSteps(
  environment: EnvironmentProcess,
  episodes: number,
  steps: number,
): Promise<{ perSecond: number; times: number[]; wrong: number }> {
  const times: number[] = [];
  let wrong = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: episodes }, async (_, seed) => {
      const episode = `concurrent-${seed}`;
      await environment.reset(episode, seed);
      for (let step = 1; step <= steps; step++) {
        const sent = performance.now();
        const { observations } = await environment.step(episode, [CALL]);
        times.push(performance.now() - sent);
        // The stock that is left tells the episode's number of steps, so an answer to another episode would show.
        if ((JSON.parse(observations[0]!) as { left: number }).left !== 10_000_000 - 2 * step) wrong++;
      }
      await environment.drop(episode);
    }),
  );
  return { perSecond: (episodes * steps * 1000) / (performance.now() - began), times, wrong };
}

/** Milliseconds of a step with a process of its own: start, reset and step. */
export async function processPerStep(loaded: LoadedProfile): Promise<number> {
  const began = performance.now();
  const environment = await startRuntime('jail', HONEST, loaded);
  await environment.reset('only', 1);
  await environment.step('only', [CALL]);
  const took = performance.now() - began;
  await environment.close();
  return took;
}

const IN_PROCESS = `
import json, sys, time
source, call = json.load(sys.stdin)
module = {"__name__": "environment"}
exec(source, module)
environment = module["Environment"]()
environment.reset(1)
times = []
for _ in range(20000):
    began = time.perf_counter()
    environment.step(call)
    times.append(time.perf_counter() - began)
print(sorted(times)[len(times) // 2] * 1000)
`;

/** Median time of the same call made inside a Python process, in milliseconds. */
export async function inProcessStep(): Promise<number> {
  const running = promisify(execFile)(pythonInterpreter(), ['-I', '-S', '-c', IN_PROCESS]);
  running.child.stdin!.end(JSON.stringify([HONEST, CALL]));
  return Number((await running).stdout);
}
