import { z } from 'zod';
import type { EnvironmentTokens } from '../../contracts/artifacts/environment-use';
import { type EpisodeTokens, episodeTokensSchema } from '../../contracts/artifacts/episode-tokens';
import { isPlayed, type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import { countCauses, type FailedByCause } from '../../contracts/failed-episodes';
import type { ArtifactStore, DamagedLines, Segment } from '../../store';
import { TASK_TRIES } from '../failed-task';
import { warnOfDamage } from '../warn-of-damage';
import { isTooLongToOpen } from './episode';

const lineSchema = z.object({
  /** Wall-clock time of the set so far, over all attempts. */
  seconds: z.number(),
  /** The environment's fault that ended the episode, as a sentence; usually null. */
  fault: z.string().nullable(),
  /** Of a failed episode: how often it has failed, this time included. Fewer than `TASK_TRIES`: it is played again. */
  tries: z.int().positive().optional(),
  trajectory: trajectorySchema,
  /** Absent: nobody asked for them. */
  tokens: episodeTokensSchema.optional(),
  /** Why the model server gave no tokens when the episode was played. Absent: it gave them, or nobody asked. */
  tokenRefusal: z.string().optional(),
});
type Line = z.infer<typeof lineSchema>;

/** The name of an episode in its set. */
export const episodeKey = ({ seed, trial }: { seed: number; trial: number }): string => `${seed}:${trial}`;

/** A fault of the environment in an episode. */
export interface EpisodeFault {
  seed: number;
  trial: number;
  /** One sentence, with the traceback if there is one. */
  sentence: string;
  /** True if the fault ended the process, so that nothing remains of the episode, not even its opening. */
  lost: boolean;
}

/** An episode's trajectory and the tokens of its answers. */
export interface TokensOfEpisode {
  trajectory: Trajectory;
  tokens: EpisodeTokens;
}

/** The stored facts about a finished episode. */
interface Finished {
  seed: number;
  trial: number;
  fault: string | null;
  isLost: boolean;
  isTooLong: boolean;
  isRefused: boolean;
  /** Null: the episode has a result. */
  failedBecause: string | null;
  /** How often it has failed. */
  tries: number;
  /** Position of its line in the work file; for a line of this attempt null until the first search. */
  place: { start: number; end: number } | null;
}

const hasResult = ({ failedBecause }: Finished): boolean => failedBecause === null;

const isFinished = ({ failedBecause, tries }: Finished): boolean => failedBecause === null || tries >= TASK_TRIES;

/**
 * The finished episodes of a set of rollouts. Their trajectories stay in the activity's work file, because a long set
 * would not fit into memory.
 */
export class FinishedEpisodes {
  private readonly episodes = new Map<string, Finished>();
  /** Offset up to which the positions of lines are known. */
  private end = 0;
  private before = 0;
  /** For each line that was read: what its simulated user and judge spent; null: it does not say. */
  readonly environmentTokens: (EnvironmentTokens | null)[] = [];
  /** Why the model server gave no tokens, by the last line that was read; null: it gave them, or nobody asked. */
  tokenRefusal: string | null = null;
  /** Tokens of the model in the failed tries of the lines that were read. */
  private spent = { promptTokens: 0, completionTokens: 0 };

  private constructor(private readonly segment: Segment) {}

  /**
   * Reads the episodes of earlier attempts. An episode with a damaged line counts as not finished and is played again.
   */
  static async open(store: ArtifactStore, key: string): Promise<FinishedEpisodes> {
    const finished = new FinishedEpisodes(store.segment(key));
    const damaged = await finished.findPlaces();
    warnOfDamage(damaged);
    finished.damagedLines = damaged.count;
    return finished;
  }

  /** Lines of earlier attempts that could not be read. */
  damagedLines = 0;

  /** Wall-clock time of earlier attempts. */
  get secondsBefore(): number {
    return this.before;
  }

  /** Number of finished episodes. */
  get size(): number {
    return this.all(isFinished).length;
  }

  /** Whether an episode is finished. */
  has(one: { seed: number; trial: number }): boolean {
    const episode = this.episodes.get(episodeKey(one));
    return episode !== undefined && isFinished(episode);
  }

  /**
   * Adds an episode. It is in the work file when the promise resolves. A failed one is finished after `TASK_TRIES`
   * tries: a retry of the activity goes on counting them.
   * @param told `tokens` of its answers, and why there are none: a retry that plays nothing asks no server.
   */
  async add(
    trajectory: Trajectory,
    fault: string | null,
    seconds: number,
    told: { tokens?: EpisodeTokens | undefined; tokenRefusal?: string | null } = {},
  ): Promise<void> {
    const { tokens, tokenRefusal = null } = told;
    const { task, trial } = trajectory;
    const before = this.episodes.get(episodeKey({ seed: task.seed, trial }))?.tries ?? 0;
    const line: Line = {
      seconds,
      fault,
      ...(!isPlayed(trajectory) && { tries: before + 1 }),
      trajectory,
      ...(tokens && { tokens }),
      ...(tokenRefusal !== null && { tokenRefusal }),
    };
    await this.segment.append(line);
    this.remember(line, null);
  }

  /** Counts the tries of these episodes from the beginning again. */
  playAgain(episodes: readonly { seed: number; trial: number }[]): void {
    for (const one of episodes) {
      const episode = this.episodes.get(episodeKey(one));
      if (episode !== undefined) episode.tries = 0;
    }
  }

  /** Seed and trial of the episodes whose opening is longer than the model's context. */
  get tooLongToOpen(): { seed: number; trial: number }[] {
    return this.all(({ isTooLong }) => isTooLong);
  }

  /** Seed and trial of the episodes whose conversation the model server refused. */
  get refused(): { seed: number; trial: number }[] {
    return this.all(({ isRefused }) => isRefused);
  }

  /** Seed and trial of the episodes that are kept as failed. */
  get failed(): { seed: number; trial: number }[] {
    return this.all((episode) => episode.failedBecause !== null && isFinished(episode));
  }

  /** Their number by cause. */
  get failedByCause(): FailedByCause {
    return countCauses(this.sorted().flatMap((one) => (isFinished(one) ? (one.failedBecause ?? []) : [])));
  }

  /** The faults, sorted by seed and trial. */
  get faults(): EpisodeFault[] {
    return this.sorted().flatMap(({ seed, trial, fault, isLost }) =>
      fault === null ? [] : [{ seed, trial, sentence: fault, lost: isLost }],
    );
  }

  /**
   * The trajectories that have a result, sorted by seed and trial, so that the order does not depend on timing. They
   * are read one by one.
   */
  async *trajectories(): AsyncGenerator<Trajectory> {
    for await (const { trajectory } of this.read(hasResult)) yield trajectory;
  }

  /** The same, each with its tokens; without those whose tokens nobody asked for. */
  async *tokens(): AsyncGenerator<TokensOfEpisode> {
    for await (const { trajectory, tokens } of this.read(hasResult)) if (tokens) yield { trajectory, tokens };
  }

  /** The trajectories of the episodes that are kept as failed, in the same order. */
  async *failedTrajectories(): AsyncGenerator<Trajectory> {
    const wanted = (episode: Finished) => episode.failedBecause !== null && isFinished(episode);
    for await (const { trajectory } of this.read(wanted)) yield trajectory;
  }

  /** Tokens of the model in all failed tries, also of those that were played again. */
  async failedUsage(): Promise<Pick<Trajectory['usage'], 'promptTokens' | 'completionTokens'>> {
    await this.findPlaces();
    return this.spent;
  }

  private async *read(wanted: (episode: Finished) => boolean): AsyncGenerator<Line> {
    await this.findPlaces();
    for (const { seed, trial, place } of this.sorted().filter(wanted)) {
      let found: Line | null = null;
      if (place !== null)
        for await (const { value } of this.segment.read(lineSchema, place.start, place.end)) found = value;
      // Only this activity writes the file, so the line was damaged from outside. A retry plays the episode again.
      if (found === null) throw new Error(`The line of seed ${seed}, trial ${trial} in the work file was damaged.`);
      yield found;
    }
  }

  /** Closes the work file. Its trajectories can still be read. */
  close(): Promise<void> {
    return this.segment.close();
  }

  /** Reads the lines after those whose positions are known. The last line of an episode counts. */
  private async findPlaces(): Promise<DamagedLines> {
    const reading = this.segment.read(lineSchema, this.end);
    for await (const { value, start, end } of reading) {
      this.remember(value, { start, end });
      this.before = Math.max(this.before, value.seconds);
      this.environmentTokens.push(value.trajectory.environmentUsage ?? null);
      this.tokenRefusal = value.tokenRefusal ?? null;
      if (value.tries === undefined) continue;
      this.spent.promptTokens += value.trajectory.usage.promptTokens;
      this.spent.completionTokens += value.trajectory.usage.completionTokens;
    }
    this.end = reading.end;
    return reading.damaged;
  }

  private remember({ trajectory, fault, tries = 0 }: Line, place: Finished['place']): void {
    const { task, trial, messages } = trajectory;
    const { seed } = task;
    this.episodes.set(episodeKey({ seed, trial }), {
      seed,
      trial,
      fault,
      isLost: messages.length === 0,
      isTooLong: isTooLongToOpen(trajectory),
      isRefused: trajectory.finish === 'refused',
      failedBecause: isPlayed(trajectory) ? null : (trajectory.failedBecause ?? 'other'),
      tries,
      place,
    });
  }

  private all(wanted: (episode: Finished) => boolean): Finished[] {
    return [...this.episodes.values()].filter(wanted);
  }

  private sorted(): Finished[] {
    return [...this.episodes.values()].sort((a, b) => a.seed - b.seed || a.trial - b.trial);
  }
}
