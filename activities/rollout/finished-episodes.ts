import { z } from 'zod';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { ArtifactStore, DamagedLines, Segment } from '../../store';
import { warnOfDamage } from '../warn-of-damage';
import { isTooLongToOpen } from './episode';

const lineSchema = z.object({
  /** Wall-clock time of the set so far, over all attempts. */
  seconds: z.number(),
  /** The environment's fault that ended the episode, as a sentence; usually null. */
  fault: z.string().nullable(),
  trajectory: trajectorySchema,
});
type Line = z.infer<typeof lineSchema>;

const keyOf = (seed: number, trial: number): string => `${seed}:${trial}`;

/** A fault of the environment in an episode. */
export interface EpisodeFault {
  seed: number;
  trial: number;
  /** One sentence, with the traceback if there is one. */
  sentence: string;
  /** True if the fault ended the process, so that nothing remains of the episode, not even its opening. */
  lost: boolean;
}

/** The stored facts about a finished episode. */
interface Finished {
  seed: number;
  trial: number;
  fault: string | null;
  isLost: boolean;
  isTooLong: boolean;
  isRefused: boolean;
  /** Position of its line in the work file; for a line of this attempt null until the first search. */
  place: { start: number; end: number } | null;
}

/**
 * The finished episodes of a set of rollouts. Their trajectories stay in the activity's work file, because a long set
 * would not fit into memory.
 */
export class FinishedEpisodes {
  private readonly episodes = new Map<string, Finished>();
  /** Offset up to which the positions of lines are known. */
  private end = 0;
  private before = 0;

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
    return this.episodes.size;
  }

  /** Whether an episode is finished. */
  has({ seed, trial }: { seed: number; trial: number }): boolean {
    return this.episodes.has(keyOf(seed, trial));
  }

  /** Adds a finished episode. It is in the work file when the promise resolves. */
  async add(trajectory: Trajectory, fault: string | null, seconds: number): Promise<void> {
    const line: Line = { seconds, fault, trajectory };
    await this.segment.append(line);
    this.remember(line, null);
  }

  /** Seed and trial of the episodes whose opening is longer than the model's context. */
  get tooLongToOpen(): { seed: number; trial: number }[] {
    return [...this.episodes.values()].filter(({ isTooLong }) => isTooLong);
  }

  /** Seed and trial of the episodes whose conversation the model server refused. */
  get refused(): { seed: number; trial: number }[] {
    return [...this.episodes.values()].filter(({ isRefused }) => isRefused);
  }

  /** The faults, sorted by seed and trial. */
  get faults(): EpisodeFault[] {
    return this.sorted().flatMap(({ seed, trial, fault, isLost }) =>
      fault === null ? [] : [{ seed, trial, sentence: fault, lost: isLost }],
    );
  }

  /**
   * All trajectories, sorted by seed and trial, so that the order does not depend on timing. They are read one by one.
   */
  async *trajectories(): AsyncGenerator<Trajectory> {
    await this.findPlaces();
    for (const { seed, trial, place } of this.sorted()) {
      let found: Trajectory | null = null;
      if (place !== null)
        for await (const { value } of this.segment.read(lineSchema, place.start, place.end)) found = value.trajectory;
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
    }
    this.end = reading.end;
    return reading.damaged;
  }

  private remember({ trajectory, fault }: Line, place: Finished['place']): void {
    const { task, trial, messages } = trajectory;
    this.episodes.set(keyOf(task.seed, trial), {
      seed: task.seed,
      trial,
      fault,
      isLost: messages.length === 0,
      isTooLong: isTooLongToOpen(trajectory),
      isRefused: trajectory.finish === 'refused',
      place,
    });
  }

  private sorted(): Finished[] {
    return [...this.episodes.values()].sort((a, b) => a.seed - b.seed || a.trial - b.trial);
  }
}
