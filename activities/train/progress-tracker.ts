import type { TrainingReport } from '../../contracts/artifacts/training';
import type { TrainerProgress } from '../../k8s/training-snapshot';
import type { Training } from './backend';
import { progressChangedMs, readProgressLines } from './progress-file';

/** What a trainer says of itself in progress.jsonl, with the times at which it was seen. */
export class ProgressTracker {
  private last: { iteration: number; atMs: number } | null = null;

  /** `report` is the newest one that arrived: it may be ahead of a file on a network. */
  constructor(
    private readonly directory: string,
    private readonly report: () => (TrainingReport & { atMs: number }) | null = () => null,
  ) {}

  /** The newest iteration; null before the first. */
  async look(): Promise<TrainerProgress | null> {
    const lines = await readProgressLines(this.directory);
    const report = this.report();
    const written = lines.at(-1);
    const line = report !== null && report.iteration > (written?.iteration ?? 0) ? report : written;
    if (line === undefined) {
      this.last = null;
      return null;
    }
    // The first look cannot know when it happened, later ones see it happen: file times may be another machine's.
    if (this.last === null)
      this.last = { iteration: line.iteration, atMs: (await progressChangedMs(this.directory)) ?? Date.now() };
    else if (this.last.iteration !== line.iteration) this.last = { iteration: line.iteration, atMs: Date.now() };
    const seconds = lines
      .map(({ secondsGeneration, secondsUpdate }) => secondsGeneration + secondsUpdate)
      .sort((a, b) => a - b);
    const median = seconds.length < 3 ? null : (seconds[Math.floor(seconds.length / 2)] ?? null);
    return {
      iteration: line.iteration,
      iterations: line.iterations,
      reward: line.reward,
      atMs: this.last.atMs,
      medianMs: median === null ? null : median * 1_000,
      secondsLeft: median === null ? null : (line.iterations - line.iteration) * median,
    };
  }

  /** About when the first iteration was done, in milliseconds since 1970; null before. */
  async firstIterationMs(): Promise<number | null> {
    const lines = await readProgressLines(this.directory);
    const [first, last] = [lines[0], lines.at(-1)];
    if (first === undefined || last === undefined || this.last === null) return null;
    return this.last.atMs - (last.secondsElapsed - first.secondsElapsed) * 1_000;
  }
}

/** What a watch of a trainer can say. */
export type Watch = Pick<ProgressTracker, 'look' | 'firstIterationMs'>;

/** Watches a training, and through the others of its group whether the trainer is alive. `report` is as above. */
export function trackProgress(
  { planned, group }: Training,
  report: () => (TrainingReport & { atMs: number }) | null,
): Watch {
  const own = new ProgressTracker(planned.directory, report);
  const others = group.members
    .filter(({ directory }) => directory !== planned.directory)
    .map(({ directory }) => new ProgressTracker(directory));
  if (others.length === 0) return own;
  return {
    async look() {
      const mine = await own.look();
      const theirs = (await Promise.all(others.map((other) => other.look()))).filter((view) => view !== null);
      if (mine === null && theirs.length === 0) return null;
      const atMs = Math.max(...[mine, ...theirs].map((view) => view?.atMs ?? 0));
      // Before its own first iteration: the trainer may be at work on the others'.
      const first = {
        iteration: 0,
        iterations: planned.job.algorithm.iterations,
        reward: 0,
        medianMs: null,
        secondsLeft: null,
      };
      return { ...(mine ?? first), atMs };
    },
    firstIterationMs: () => own.firstIterationMs(),
  };
}
