import { Context } from '@temporalio/activity';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { RolloutToRead } from '../../contracts/artifacts/second-reading';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import { MOST_READ } from '../../contracts/limits';
import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import type { EnvironmentInput } from '../../contracts/messages/sharpen-stage';
import { contentKey } from '../../llm';
import { SandboxError } from '../../sandbox';
import { layout, putLines } from '../../store';
import { readSynthesisedEnvironment } from '../environment';
import { type EnvironmentTask, readTasks } from '../environment-checks/environment-task';
import type { Material } from '../environment-checks/variation-parts';
import { materialOf, variationsOf } from '../environment-checks/variations';
import { withOneWrongArgument } from '../environment-checks/wrong-arguments';
import { mapInParallel } from '../in-parallel';
import { RestartingEnvironment } from '../rollout/restarting-environment';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { seededRandom } from '../statistics/random';
import { calibrationSeeds } from './seed-ranges';
import { assertOwnFault } from './synthetic-rollouts';
import { playAsRollout } from './scripted-rollout';

/** Tasks whose solutions are played, right and changed. */
const TASKS = 40;
/** Changed solutions of each task. */
const CHANGES = 8;
const EPISODES_AT_ONCE = 16;

/** What is read next, again and again: whose rollout, and whether it was paid. A kind that is used up is left out. */
const TURN: readonly { source: RolloutToRead['source']; paid?: boolean }[] = [
  { source: 'base', paid: true },
  { source: 'reference' },
  { source: 'changed', paid: true },
  { source: 'base', paid: false },
  { source: 'reference' },
  { source: 'changed', paid: false },
];

/**
 * Stores the rollouts in an environment that the second reader may see: those of the base model, its reference
 * solutions, and these with changes. They are drawn by the source's hash, so that no environment can prepare for it.
 * Null if agent.yaml wants no second reader.
 * @param base the calibration's rollouts.
 * @throws Sandbox.Unavailable; Environment.Killed. An episode in which the environment fails is left out.
 */
export async function keepRolloutsToRead(
  deps: RolloutDeps,
  { context, capability, source }: EnvironmentInput,
  { spec }: PreparedSpec,
  base: readonly Trajectory[],
): Promise<ArtifactRef | null> {
  if (spec.certificate.secondReader.labels === 0) return null;
  const scripted = await playScripts(deps, { context, capability, source }, spec.environment.successReward);
  const all = inReadingOrder([...scripted, ...base.flatMap(asRead)], source.sha256);
  const folder = layout.environments(context.runId, capability.id);
  // The most that a setting allows: a later night may have another setting.
  return putLines(deps.store, folder, 'to-read.jsonl', all.slice(0, MOST_READ));
}

/** A rollout of the base model that shows something. */
function asRead({ finish, messages, reward, success, task }: Trajectory): RolloutToRead[] {
  if (finish === 'environment-error' || finish === 'refused' || !messages.some(({ role }) => role === 'assistant'))
    return [];
  return [{ source: 'base', change: null, seed: task.seed, callsForIt: null, reward, paid: success, messages }];
}

/** A script and what it is. */
interface Script extends Pick<RolloutToRead, 'source' | 'change' | 'callsForIt'> {
  seed: number;
  moves: readonly EnvironmentMove[];
}

async function playScripts(
  deps: RolloutDeps,
  { capability, source }: EnvironmentInput,
  successReward: number,
): Promise<RolloutToRead[]> {
  const signal = Context.current().cancellationSignal;
  const environment = new RestartingEnvironment(
    deps.openEnvironment,
    await readSynthesisedEnvironment(deps.store, source, capability.id),
  );
  try {
    const handle = await environment.running();
    const { tools } = await handle.describe();
    const tasks = await readTasks(handle, calibrationSeeds(TASKS, source.sha256), signal);
    const scripts = scriptsOf(tasks, materialOf(tools, tasks));
    const played = await mapInParallel(scripts, EPISODES_AT_ONCE, signal, async ({ moves, ...script }) => {
      const rollout = await playedOrNull(await environment.running(), script.seed, moves, tools);
      return rollout === null ? [] : [{ ...script, ...rollout, paid: rollout.reward >= successReward }];
    });
    return played.flat();
  } catch (error) {
    signal.throwIfAborted();
    assertOwnFault(error);
    return [];
  } finally {
    await environment.close();
  }
}

/** Null if the environment raises an exception. */
async function playedOrNull(...script: Parameters<typeof playAsRollout>) {
  const [environment] = script;
  try {
    return await playAsRollout(...script);
  } catch (error) {
    if (!(error instanceof SandboxError) || !environment.alive) throw error;
    return null;
  }
}

/** The reference solution of each task, and a few changed ones. */
function scriptsOf(tasks: readonly EnvironmentTask[], material: Material): Script[] {
  return tasks.flatMap((task): Script[] => {
    const { seed, reference, skillCalls } = task;
    const callsForIt = skillCalls === null ? null : skillCalls.length > 0;
    const known = { seed, callsForIt };
    return [
      { ...known, source: 'reference', change: null, moves: reference },
      ...changesOf(task, material).map(({ about, moves }): Script => ({
        ...known,
        source: 'changed',
        change: about,
        moves,
      })),
    ];
  });
}

/**
 * Changes of a solution: the moves that show the capability left out, one of them wrong, and some of the other changes,
 * drawn by the seed. A task that does not call for the capability gets only the others; some of them are further calls.
 */
function changesOf(task: EnvironmentTask, material: Material): { about: string; moves: EnvironmentMove[] }[] {
  const { seed, reference } = task;
  const random = seededRandom(seed);
  const skill = new Set(task.skillCalls);
  const left = reference.filter((_, position) => !skill.has(position));
  const without =
    left.length < reference.length && left.length > 0
      ? [{ about: 'The moves that show the capability left out', moves: left }]
      : [];
  const wrong = reference.flatMap((move, position) =>
    !skill.has(position)
      ? []
      : withOneWrongArgument(move, material.values, random).map(({ move: other, key }) => ({
          about: `A wrong ${key} in a move that shows the capability`,
          moves: reference.map((right, index) => (index === position ? other : right)),
        })),
  );
  const others = variationsOf(task, material, task.seed)
    .map((variation) => ({ variation, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ variation: { about, moves } }) => ({ about, moves }));
  return [...without, ...wrong, ...others].slice(0, CHANGES);
}

/**
 * The rollouts in the order in which they are read, each conversation once. Every beginning of the list is balanced
 * between those who acted, and between paid and not. Within one kind, other tasks come first.
 */
export function inReadingOrder(rollouts: readonly RolloutToRead[], sourceSha256: string): RolloutToRead[] {
  const ranked = rollouts
    .map((rollout) => ({ rollout, rank: contentKey('to-read', sourceSha256, JSON.stringify(rollout.messages)) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .filter(({ rank }, index, all) => all[index - 1]?.rank !== rank)
    .map(({ rollout }) => rollout);
  const queues = TURN.map(({ source, paid }, place) => {
    // Two places of the turn may take from the same kind: they share its queue.
    const first = TURN.findIndex((other) => other.source === source && other.paid === paid);
    return first < place
      ? first
      : otherTasksFirst(ranked.filter((one) => one.source === source && (paid === undefined || one.paid === paid)));
  });
  const order: RolloutToRead[] = [];
  for (let left = true; left;) {
    left = false;
    for (const queue of queues) {
      const next = (typeof queue === 'number' ? (queues[queue] as RolloutToRead[]) : queue).shift();
      if (next === undefined) continue;
      order.push(next);
      left = true;
    }
  }
  return order;
}

/** The first rollout of each task, then the second of each, and so on. */
function otherTasksFirst(rollouts: readonly RolloutToRead[]): RolloutToRead[] {
  const seen = new Map<number, number>();
  return rollouts
    .map((rollout, place) => {
      const before = seen.get(rollout.seed) ?? 0;
      seen.set(rollout.seed, before + 1);
      return { rollout, before, place };
    })
    .sort((a, b) => a.before - b.before || a.place - b.place)
    .map(({ rollout }) => rollout);
}
