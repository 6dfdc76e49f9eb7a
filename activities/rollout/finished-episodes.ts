import { z } from 'zod';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import { type ArtifactStore, readSegment, type Segment } from '../../store';
import { warnOfDamage } from '../warn-of-damage';

const lineSchema = z.object({
  /** Wall time of the set so far, over all attempts. */
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
  /** True if the fault ended the process, so that nothing is left of the episode, not even its opening. */
  lost: boolean;
}

/** The finished episodes of a set of rollouts, in memory and in the activity's work file. */
export class FinishedEpisodes {
  private constructor(
    private readonly segment: Segment,
    private readonly lines: Map<string, Line>,
    /** Wall time of earlier attempts. */
    readonly secondsBefore: number,
  ) {}

  /** Reads the episodes of earlier attempts. One whose line is damaged is not finished, and is run again. */
  static async open(store: ArtifactStore, key: string): Promise<FinishedEpisodes> {
    const segment = store.segment(key);
    const { values: lines, damaged } = await readSegment(segment, lineSchema);
    warnOfDamage(damaged);
    const byTask = new Map(lines.map((line) => [keyOf(line.trajectory.task.seed, line.trajectory.trial), line]));
    return new FinishedEpisodes(segment, byTask, Math.max(0, ...lines.map((line) => line.seconds)));
  }

  /** Number of finished episodes. */
  get size(): number {
    return this.lines.size;
  }

  /** Whether an episode is finished. */
  has({ seed, trial }: { seed: number; trial: number }): boolean {
    return this.lines.has(keyOf(seed, trial));
  }

  /** Adds a finished episode. It is in the work file when this resolves. */
  async add(trajectory: Trajectory, fault: string | null, seconds: number): Promise<void> {
    const line: Line = { seconds, fault, trajectory };
    await this.segment.append(line);
    this.lines.set(keyOf(trajectory.task.seed, trajectory.trial), line);
  }

  /** All trajectories and faults, sorted by seed and trial, so that the order does not depend on speed. */
  sorted(): { trajectories: Trajectory[]; faults: EpisodeFault[] } {
    const lines = [...this.lines.values()].sort(
      (a, b) => a.trajectory.task.seed - b.trajectory.task.seed || a.trajectory.trial - b.trajectory.trial,
    );
    const faults = lines.flatMap(({ fault, trajectory: { task, trial, messages } }) =>
      fault === null ? [] : [{ seed: task.seed, trial, sentence: fault, lost: messages.length === 0 }],
    );
    return { trajectories: lines.map((line) => line.trajectory), faults };
  }

  /** Closes the work file. */
  close(): Promise<void> {
    return this.segment.close();
  }
}
