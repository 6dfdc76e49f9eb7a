import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { ChatMessage } from '../../contracts/artifacts/trajectory';
import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import { isFailure } from '../../contracts/typed-failure';
import { SandboxError } from '../../sandbox';
import { type EnvironmentHandle, paidBy, readOwnerEnvironment } from '../environment';
import { asCall } from '../environment-checks/moves';
import { play } from '../environment-checks/play';
import { wordsOf } from '../environment-checks/words';
import { mapInParallel } from '../in-parallel';
import { isProcessFault, mapAloneIfLost } from '../rollout/restarting-environment';
import type { RolloutDeps } from '../rollout/rollout-deps';

/** Solutions that are played at a time. */
const AT_ONCE = 8;
/** How often the process may end before no task counts as having a solution. */
const TRIES = 3;

/** What the agent's environment says to its own solutions. */
interface PlayedSolutions {
  /** Tasks whose solution was accepted, calls one of the tools, and was played again without these calls. */
  tried: number;
  /** Of these, tasks in which the solution was accepted without them. */
  accepted: number;
  /**
   * Whether the tools' answers differ in what was not known before the call. A solution knows what a look-up would
   * tell, and the agent does not: that the solution does without it then proves nothing.
   */
  informs: boolean;
}

type PlayerDeps = Pick<RolloutDeps, 'store' | 'openEnvironment'>;

/** The run that asks, and pays for simulated users and judges. */
interface AskingRun {
  runId: string;
  prepared: PreparedSpec;
}

/** Plays the solutions of tasks in the agent's environment. Null: the environment cannot be played. */
export interface SolutionPlayer {
  /** Plays each task's solution, and again without the calls of these tools. */
  withoutTools(
    run: AskingRun,
    tools: readonly string[],
    seeds: readonly number[],
    signal: AbortSignal,
  ): Promise<PlayedSolutions | null>;
  /** The messages of each accepted solution, as an agent would see them. */
  messages(run: AskingRun, seeds: readonly number[], signal: AbortSignal): Promise<ChatMessage[][] | null>;
}

/**
 * Opens the environment for each question and closes it again. What the environment cannot play is no evidence, so its
 * failures give null.
 * @throws Budget.Spent; the signal's reason.
 */
export function solutionPlayer(deps: PlayerDeps): SolutionPlayer {
  return {
    withoutTools: (run, tools, seeds, signal) =>
      inOwnerEnvironment(deps, run, signal, async (environment) => {
        const { successReward } = run.prepared.spec.environment;
        const judged = await mapInParallel(seeds, AT_ONCE, signal, async (seed) => {
          const solution = await environment.reference(seed);
          const shorter = solution.filter((move) => !tools.includes(asCall(move).name));
          if (shorter.length === solution.length) return null;
          const played = await play(environment, seed, solution);
          if (played.reward < successReward) return null;
          const accepted = (await play(environment, seed, shorter)).reward >= successReward;
          return { accepted, answers: newWords(messagesOf(played, solution), tools) };
        });
        const tried = judged.filter((one) => one !== null);
        return {
          tried: tried.length,
          accepted: tried.filter(({ accepted }) => accepted).length,
          informs: new Set(tried.flatMap(({ answers }) => answers)).size > 1,
        };
      }),
    messages: (run, seeds, signal) =>
      inOwnerEnvironment(deps, run, signal, async (environment) => {
        const { successReward } = run.prepared.spec.environment;
        const played = await mapInParallel(seeds, AT_ONCE, signal, async (seed) => {
          const solution = await environment.reference(seed);
          const played = await play(environment, seed, solution);
          return played.reward < successReward ? [] : [messagesOf(played, solution)];
        });
        return played.flat();
      }),
  };
}

/**
 * The solutions that the agent's environment accepts, by task. A task in which it fails has none; if its process ends
 * and does not start again, no task has one. `onRead` is called after each task.
 * @throws Budget.Spent; the signal's reason.
 */
export async function acceptedSolutions(
  deps: PlayerDeps,
  run: AskingRun,
  seeds: readonly number[],
  { signal, onRead }: { signal: AbortSignal; onRead: () => void },
): Promise<Map<number, EnvironmentMove[]>> {
  const { successReward } = run.prepared.spec.environment;
  const read = async (environment: EnvironmentHandle, seed: number): Promise<[number, EnvironmentMove[]][]> => {
    try {
      const solution = await environment.reference(seed);
      return (await play(environment, seed, solution)).reward < successReward ? [] : [[seed, solution]];
    } catch (error) {
      if (!(error instanceof SandboxError) || isProcessFault(error)) throw error;
      return [];
    }
  };
  // Something outside may have ended the process, so it is tried again.
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await inOwnerEnvironment(deps, run, signal, (environment) =>
      mapAloneIfLost(seeds, AT_ONCE, signal, async (seed) => {
        const solution = await read(environment, seed);
        onRead();
        return solution;
      }),
    );
    if (found !== null) return new Map(found.flat());
  }
  return new Map();
}

/** Asks the agent's environment about its solutions; null if it has none, or cannot be played. */
async function inOwnerEnvironment<T>(
  { store, openEnvironment }: PlayerDeps,
  { runId, prepared }: AskingRun,
  signal: AbortSignal,
  ask: (environment: EnvironmentHandle) => Promise<T>,
): Promise<T | null> {
  let environment: EnvironmentHandle | null = null;
  const close = (): void => void environment?.close();
  if (!prepared.facts.hasReferences) return null;
  try {
    const payer = { store, runId, budget: prepared.spec.budget, stage: 'identify' } as const;
    environment = await openEnvironment(paidBy(await readOwnerEnvironment(prepared), payer));
    signal.addEventListener('abort', close, { once: true });
    signal.throwIfAborted();
    return await ask(environment);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SandboxError || isFailure(error, 'Environment.Failed')) return null;
    throw error;
  } finally {
    signal.removeEventListener('abort', close);
    await environment?.close();
  }
}

/** An episode as an agent would see it. */
const messagesOf = (
  { messages, observations }: Awaited<ReturnType<typeof play>>,
  solution: readonly EnvironmentMove[],
): ChatMessage[] => [...messages, ...observations.flatMap((content, i) => turnOf(solution[i]!, content, `call-${i}`))];

/** For each answer of these tools, its words that stood neither in the messages before it nor in the call. */
function newWords(messages: readonly ChatMessage[], tools: readonly string[]): string[] {
  const known = new Set<string>();
  const answers: string[] = [];
  let called = '';
  for (const { content, tool_calls: calls, role } of messages) {
    const words = wordsOf(content ?? '');
    if (role === 'tool' && tools.includes(called)) answers.push(words.filter((word) => !known.has(word)).join(' '));
    called = calls?.[0]?.function.name ?? '';
    for (const word of [...words, ...wordsOf(calls?.[0]?.function.arguments ?? '')]) known.add(word);
  }
  return answers;
}

function turnOf(move: EnvironmentMove, observation: string, id: string): ChatMessage[] {
  if ('text' in move)
    return [
      { role: 'assistant', content: move.text },
      { role: 'user', content: observation },
    ];
  const called = { name: move.name, arguments: JSON.stringify(move.arguments) };
  return [
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: called }] },
    { role: 'tool', content: observation, tool_call_id: id },
  ];
}
