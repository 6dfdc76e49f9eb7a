import { startOf } from '../../contracts/clean-text';
import { failedText } from '../../contracts/failed-episodes';
import { failure } from '../../contracts/typed-failure';
import type { SandboxError } from '../../sandbox';
import { TASK_TRIES } from '../failed-task';
import { episodeKey, type FinishedEpisodes } from './finished-episodes';
import type { ModelFault } from './model-errors';
import type { RolloutOptions } from './run-rollouts';

/** Most characters of a line of a failure that a line for people quotes. */
const MOST_QUOTED = 150;

/** Faults that most episodes of a set ended with: then no task is at fault, but what all of them share. */
export class SharedFaults {
  /** The last conversation that the model server refused; null: none. */
  lastRefusal: ModelFault | null = null;
  /** The last failure of something other than the agent; null: none. */
  lastFailure: SandboxError | null = null;

  constructor(
    private readonly work: FinishedEpisodes,
    private readonly options: Pick<RolloutOptions, 'plans' | 'mayFail' | 'environment' | 'model'>,
  ) {}

  /** Keys of the episodes that a shared fault ended. */
  episodes(): ReadonlySet<string> {
    return new Set([...this.tooLongToOpen, ...this.refused, ...this.failed]);
  }

  /** Those that failed; empty if they are not most of the set. */
  get failed(): ReadonlySet<string> {
    const { failed } = this.work;
    return failed.length > (this.options.mayFail ?? 0) ? this.ifMost(failed) : new Set();
  }

  /** What failed so far, in a line: the counts, and the last failure with its task and its last words; else empty. */
  get line(): string {
    const counts = failedText(this.work.failedByCause);
    if (counts === '' || this.lastFailure === null) return counts;
    const [first, ...rest] = this.lastFailure.message.split('\n').filter((line) => line.trim() !== '');
    const end = rest.at(-1);
    const short = (text: string): string => startOf(text.trim(), MOST_QUOTED);
    return `${counts}, the last: ${short(first ?? '')}${end === undefined ? '' : ` … ${short(end)}`}`;
  }

  /** @throws ApplicationFailure `Model.ContextTooShort`, `Model.Refused`, `Environment.TasksFail` */
  throwIfAny(): void {
    if (this.tooLongToOpen.size > 0) throw this.contextTooShort();
    if (this.refused.size > 0) throw this.refusesMost();
    if (this.failed.size > 0) throw this.failsMost();
  }

  /** Those of the agent's own tasks whose opening exceeds the model's context. */
  private get tooLongToOpen(): ReadonlySet<string> {
    return this.options.environment.trust === 'owner' ? this.ifMost(this.work.tooLongToOpen) : new Set();
  }

  /** Those whose conversation the model server refused. */
  private get refused(): ReadonlySet<string> {
    return this.ifMost(this.work.refused);
  }

  private ifMost(episodes: { seed: number; trial: number }[]): ReadonlySet<string> {
    return new Set(episodes.length > this.options.plans.length / 2 ? episodes.map(episodeKey) : []);
  }

  private contextTooShort(): Error {
    const { name, baseUrl, served } = this.options.model;
    const length = served?.maxModelLength ?? null;
    return failure(
      'Model.ContextTooShort',
      `${this.tooLongToOpen.size} of ${this.options.plans.length} episodes open with a prompt that is longer than the ` +
        `context of ${name} at ${baseUrl}${length === null ? '' : ` (${length} tokens)`}.`,
    );
  }

  private refusesMost(): Error {
    const count = `${this.refused.size} of ${this.options.plans.length}`;
    return failure(
      'Model.Refused',
      `The model server refused the conversations of ${count} episodes, so the cause is the server or a setting. ` +
        `The last answer: ${this.lastRefusal?.message} Correct what it names; \`whet retry RUN\` plays these tasks again.`,
    );
  }

  private failsMost(): Error {
    const { failedByCause, failed } = this.work;
    return failure(
      'Environment.TasksFail',
      `${failed.length} of ${this.options.plans.length} episodes have no result: ${failedText(failedByCause)}, each ` +
        `after ${TASK_TRIES} tries.${this.lastFailure ? ` The last failure: ${this.lastFailure.message}` : ''}`,
    );
  }
}
