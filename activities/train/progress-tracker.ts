import type { TrainerProgress } from '../../k8s/training-snapshot';
import type { TrainingProgress } from '../../contracts/artifacts/training';
import { pairedGain } from '../../contracts/artifacts/watch-words';
import { pointsWithUnit } from '../html/format';
import type { Training } from './backend';
import { progressChangedMs, readProgressLines } from './progress-file';
import type { ReceivedReport } from './reports/report-inbox';

/** The gains over base of the newest probe, in words; null before the first one. */
function probeWords(lines: readonly TrainingProgress[]): string | null {
  const probe = lines.findLast((line) => line.probe !== undefined)?.probe;
  if (probe === undefined) return null;
  const words = [
    ...(probe.calledFor.rollouts > 0 ? [`target ${pointsWithUnit(pairedGain(probe.calledFor))}`] : []),
    ...(probe.others.rollouts > 0 ? [`other tasks ${pointsWithUnit(pairedGain(probe.others))}`] : []),
  ];
  return `probe: ${words.join(', ')}`;
}

/** Follows the progress of one training and records when each iteration was first seen. */
class ProgressTracker {
  private last: { iteration: number; atMs: number } | null = null;

  /**
   * @param latestReport the newest report so far; it may be ahead of a progress.jsonl on a network file system.
   */
  constructor(
    private readonly directory: string,
    private readonly latestReport: () => ReceivedReport | null = () => null,
  ) {}

  /** Reads the training's progress; null before its first iteration. */
  async read(): Promise<TrainerProgress | null> {
    const lines = await readProgressLines(this.directory);
    const report = this.latestReport();
    const written = lines.at(-1);
    const line = report !== null && report.iteration > (written?.iteration ?? 0) ? report : written;
    if (line === undefined) {
      this.last = null;
      return null;
    }
    // If an iteration exists at the first reading, only the file knows when it ended. Later iterations get this
    // machine's time, because the file's time may come from another machine's clock.
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
      probe: probeWords(lines),
      atMs: this.last.atMs,
      medianMs: median === null ? null : median * 1_000,
      secondsLeft: median === null ? null : (line.iterations - line.iteration) * median,
    };
  }

  /** Estimates the end of the first iteration, in milliseconds since 1970; null before it. */
  async firstIterationMs(): Promise<number | null> {
    const lines = await readProgressLines(this.directory);
    const [first, last] = [lines[0], lines.at(-1)];
    if (first === undefined || last === undefined || this.last === null) return null;
    return this.last.atMs - (last.secondsElapsed - first.secondsElapsed) * 1_000;
  }
}

/**
 * Follows a training's progress. With a shared trainer, `atMs` is the time of the last iteration of any member, which
 * shows that the trainer is alive.
 * @param latestReport the training's newest report, if there is one.
 */
export function trackProgress(
  { planned, group }: Training,
  latestReport?: () => ReceivedReport | null,
): Pick<ProgressTracker, 'read' | 'firstIterationMs'> {
  const own = new ProgressTracker(planned.directory, latestReport);
  const others = group.members
    .filter(({ directory }) => directory !== planned.directory)
    .map(({ directory }) => new ProgressTracker(directory));
  if (others.length === 0) return own;
  return {
    async read() {
      const mine = await own.read();
      const theirs = (await Promise.all(others.map((other) => other.read()))).filter((progress) => progress !== null);
      if (mine === null && theirs.length === 0) return null;
      const atMs = Math.max(...[mine, ...theirs].map((progress) => progress?.atMs ?? 0));
      // The progress before the training's own first iteration, if another member has already finished one.
      const beforeFirst = {
        iteration: 0,
        iterations: planned.job.algorithm.iterations,
        reward: 0,
        probe: null,
        medianMs: null,
        secondsLeft: null,
      };
      return { ...(mine ?? beforeFirst), atMs };
    },
    firstIterationMs: () => own.firstIterationMs(),
  };
}
