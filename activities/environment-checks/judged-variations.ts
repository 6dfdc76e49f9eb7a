import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../environment';
import { SandboxError } from '../../sandbox';
import { mapInParallel } from '../in-parallel';
import { type EnvironmentTask, TASKS_AT_ONCE } from './environment-task';
import { SUCCESS } from './limits';
import { type Format, formatDifference } from './observation-format';
import { givenValues, observedValues } from './observed-values';
import { play } from './play';
import type { Material, Variation } from './variation-parts';
import { variationsOf } from './variations';
import { textOf } from './words';
import { startOf } from '../../contracts/clean-text';

/** How an environment judged one variation. */
export interface JudgedVariation extends Pick<Variation, 'change' | 'about' | 'part' | 'kind' | 'given' | 'said'> {
  seed: number;
  succeeded: boolean;
  /** A further call changed nothing. */
  wasIdle?: boolean;
  /** Kind of the marked move's answer; null without a marked move or an answer. */
  answer: string | null;
  /** The marked move's answer, at most its first `MAX_EXAMPLE_CHARS` characters. */
  observation?: string | undefined;
}

/** The number of tries, and of successes. */
interface Tally {
  tried: number;
  succeeded: number;
}

/** The verdicts of the agent's own environment on variations of its solutions. */
export interface Judgement {
  /** By `judgementKey`. */
  changes: Map<string, Tally>;
  /** For each change, how often the marked call got each kind of answer. */
  answers: Map<string, Map<string, number>>;
  /** The changes in words, with an answer of each kind, for the author of an environment. */
  byChange: ShownChange[];
}

/** The verdicts on one kind of change. All parts of solutions are counted together. */
export interface ShownChange extends Pick<JudgedVariation, 'change' | 'about'>, Tally {
  answers: { kind: string; count: number; example: string }[];
}

/** Kind of an answer that has the form of a refusal. */
const REFUSED = 'a refusal';

/** Longest example of an answer, in characters. */
const MAX_EXAMPLE_CHARS = 200;

/** Changes are compared between parts of solutions with the same tools. */
export const judgementKey = ({ change, part }: Pick<JudgedVariation, 'change' | 'part'>): string =>
  `${change} in ${part}`;

/**
 * Plays variations of the tasks' reference solutions.
 * @param refusal form of the answers to calls of unknown tools.
 * @throws SandboxError when the process ends; the signal's reason. Variations in which the environment raises an
 *   exception are left out.
 */
export async function judgeVariations(
  environment: EnvironmentHandle,
  tasks: readonly EnvironmentTask[],
  material: Material,
  refusal: Format | null,
  signal: AbortSignal,
): Promise<JudgedVariation[]> {
  const places = tasks.map((task, place) => ({ task, place }));
  const judged = await mapInParallel(places, TASKS_AT_ONCE, signal, async ({ task, place }) => {
    const played = await Promise.all(
      variationsOf(task, material, place).map((variation) => judge(environment, task, variation, refusal)),
    );
    return played.flatMap((one) => one ?? []);
  });
  return judged.flat();
}

async function judge(
  environment: EnvironmentHandle,
  task: EnvironmentTask,
  { change, about, part, kind, given, said, moves, mark, further }: Variation,
  refusal: Format | null,
): Promise<JudgedVariation | null> {
  try {
    const { observations, reward } = await play(environment, task.seed, moves);
    const observation = mark === null ? undefined : observations[mark];
    return {
      change,
      about,
      part,
      kind,
      given,
      said,
      seed: task.seed,
      succeeded: reward >= SUCCESS,
      wasIdle:
        further !== undefined && isIdle(moves[further.position]!, observations[further.position], refusal, further),
      answer: observation === undefined ? null : kindOfAnswer(observation, refusal),
      observation: observation === undefined ? undefined : startOf(observation, MAX_EXAMPLE_CHARS),
    };
  } catch (error) {
    if (!(error instanceof SandboxError) || !environment.alive) throw error;
    return null;
  }
}

/**
 * Kind of an answer: whether it has the form of a refusal, and the values of its booleans. Everything else may differ
 * between tasks.
 */
function kindOfAnswer(observation: string, refusal: Format | null): string {
  if (refusal !== null && formatDifference(refusal, observation) === null) return REFUSED;
  try {
    const document: unknown = JSON.parse(observation);
    const said = Object.entries((document ?? {}) as Record<string, unknown>).filter(
      ([, value]) => typeof value === 'boolean',
    );
    if (said.length > 0) return `an answer with ${said.map(([name, value]) => `${name} ${String(value)}`).join(', ')}`;
  } catch {
    // An answer in words.
  }
  return 'an answer';
}

/** Whether a call changed nothing: it was refused, or its answer shows something else than that it went well. */
function isIdle(
  move: EnvironmentMove,
  observation: string | undefined,
  refusal: Format | null,
  { mayLookUp }: { mayLookUp: boolean },
): boolean {
  if (observation === undefined || kindOfAnswer(observation, refusal) === REFUSED) return true;
  if (!mayLookUp) return false;
  const given = new Set(givenValues(move).map(({ value }) => textOf(value)));
  const shown = observedValues(move, observation);
  return shown.length === 0 || shown.some(({ value }) => typeof value !== 'boolean' && !given.has(textOf(value)));
}

/** Summarises the verdicts of the agent's own environment on variations. */
export function judgementOf(judged: readonly JudgedVariation[]): Judgement {
  const changes = new Map<string, Tally>();
  const answers = new Map<string, Map<string, number>>();
  const byChange = new Map<string, ShownChange>();
  for (const one of judged) {
    // Idle, it is no fault: the tool of another environment may carry the call out.
    if (one.kind === 'fault' && one.wasIdle === true) continue;
    addTo(byChange, one);
    const known = changes.get(judgementKey(one)) ?? { tried: 0, succeeded: 0 };
    changes.set(judgementKey(one), { tried: known.tried + 1, succeeded: known.succeeded + Number(one.succeeded) });
    if (one.answer === null) continue;
    const kinds = answers.get(one.change) ?? new Map<string, number>();
    answers.set(one.change, kinds.set(one.answer, (kinds.get(one.answer) ?? 0) + 1));
  }
  return { changes, answers, byChange: [...byChange.values()] };
}

function addTo(byChange: Map<string, ShownChange>, { change, about, succeeded, answer, observation }: JudgedVariation) {
  const known = byChange.get(change) ?? { change, about, tried: 0, succeeded: 0, answers: [] };
  byChange.set(change, known);
  known.tried += 1;
  known.succeeded += Number(succeeded);
  if (answer === null) return;
  const same = known.answers.find(({ kind }) => kind === answer);
  if (same === undefined) known.answers.push({ kind: answer, count: 1, example: observation ?? '' });
  else same.count += 1;
}
