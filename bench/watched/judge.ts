/** What a watch decided about a training, judged by the outcomes of its checkpoints on held-out tasks. */
import { mean } from '../../activities/statistics/mean';
import type { Interval } from '../../contracts/artifacts/evaluation';
import type { TrainingWatch } from '../../contracts/artifacts/training';
import { sawHarm } from '../../contracts/artifacts/watch-words';
import { meanOverTasks } from '../worlds/outcome-figures';

/** Loss of another kind of task that counts, and one that the watch has to see within two probes. */
const LOST = 0.05;
const HARMED = 0.2;
/** How far a kept checkpoint may be below the best one. */
const BELOW = 0.03;

/** Passes (1) and failures (0), by task and trial. */
export type Passes = readonly (readonly number[])[];

/** Passes of base (iteration 0) and of every probed checkpoint of a training to the end. */
export type PassesByIteration = ReadonlyMap<number, Passes>;

/** What a kind of task lost against base, as a share of its rollouts, with a 95 % interval over resampled tasks. */
export interface KindLoss extends Interval {
  kind: string;
  tasks: number;
}

/**
 * The losses of all kinds of task that do not call for a capability, the largest first. A kind is the planted
 * capability that its tasks call for; those that call for none are a kind as well.
 * @param tags of each task. Others than the planted capabilities say nothing about the kind.
 */
export function lossesOfOthers(
  {
    tags,
    planted,
    capability,
  }: { tags: readonly (readonly string[])[]; planted: readonly string[]; capability: string },
  base: Passes,
  own: Passes,
  seed: number,
): KindLoss[] {
  const kinds = new Map<string, number[]>();
  for (const [task, ofTask] of tags.entries()) {
    if (ofTask.includes(capability)) continue;
    const kind = planted.find((one) => ofTask.includes(one)) ?? 'none';
    kinds.set(kind, [...(kinds.get(kind) ?? []), task]);
  }
  return [...kinds]
    .map(([kind, tasks]) => {
      const losses = tasks.map((task) => mean(base[task]!) - mean(own[task]!));
      return { kind, tasks: tasks.length, ...meanOverTasks(losses, seed) };
    })
    .sort((a, b) => b.estimate - a.estimate);
}

/** What the watch did with a wrong environment. */
export interface WrongVerdict {
  /** The kind that lost most, at the checkpoint that the watch keeps and at the end of the training to the end. */
  kept: KindLoss;
  atTheEnd: KindLoss;
  /** Whether no kind lost more than 5 points at the kept checkpoint: by the estimate, and by more than chance. */
  harmless: boolean;
  harmlessButForChance: boolean;
  /** The first probed iteration at which a kind has lost 20 points; null if there is none. */
  harmedFrom: number | null;
  /** Whether the watch ended the training for a loss by the next probe; null without such harm. */
  seenWithinTwoProbes: boolean | null;
}

/** @param losses at each probed iteration of the training to the end, and at 0: the largest first. */
export function judgeWrong(losses: ReadonlyMap<number, readonly KindLoss[]>, watch: TrainingWatch): WrongVerdict {
  const iterations = [...losses.keys()].sort((a, b) => a - b);
  const at = (iteration: number): readonly KindLoss[] => {
    const found = losses.get(iteration);
    if (found === undefined || found.length === 0) throw new RangeError(`No losses are known of ${iteration}.`);
    return found;
  };
  const kept = at(watch.kept);
  const harmedFrom = iterations.find((iteration) => at(iteration)[0]!.estimate >= HARMED) ?? null;
  const last = harmedFrom === null ? null : (iterations[iterations.indexOf(harmedFrom) + 1] ?? harmedFrom);
  return {
    kept: kept[0]!,
    atTheEnd: at(iterations.at(-1)!)[0]!,
    harmless: kept.every(({ estimate }) => estimate <= LOST),
    harmlessButForChance: kept.every(({ low }) => low <= LOST),
    harmedFrom,
    seenWithinTwoProbes: last === null ? null : sawHarm(watch) && watch.ended!.iteration <= last,
  };
}

/** What the watch did with a good environment. */
export interface GoodVerdict {
  /** Pass rate of base, of the kept checkpoint and of the last one, on tasks that call for the capability. */
  base: number;
  kept: number;
  last: number;
  /**
   * How far the kept checkpoint is below the best probed one. That is chosen on half of the trials and compared on the
   * other half, and the other way round, so that luck does not choose it.
   */
  belowBest: Interval;
  /** By more than 3 points: by the estimate, and by more than chance. */
  isBelow: boolean;
  isSurelyBelow: boolean;
  stoppedEarly: boolean;
}

/** @param passes of every probed iteration of the training to the end, and of base, on tasks that call for it. */
export function judgeGood(passes: PassesByIteration, watch: TrainingWatch, seed: number): GoodVerdict {
  const of = (iteration: number): Passes => {
    const found = passes.get(iteration);
    if (found === undefined) throw new RangeError(`No outcomes are known of iteration ${iteration}.`);
    return found;
  };
  const iterations = [...passes.keys()].sort((a, b) => a - b);
  const kept = of(watch.kept);
  const halves = [0, 1].map((half) => (trials: readonly number[]) => trials.filter((_, trial) => trial % 2 === half));
  const short = halves.map((choosing, half) => {
    const scoring = halves[1 - half]!;
    const rate = (one: Passes): number => mean(one.map((trials) => mean(choosing(trials))));
    const best = iterations.map(of).reduce((a, b) => (rate(b) > rate(a) ? b : a));
    return kept.map((trials, task) => mean(scoring(best[task]!)) - mean(scoring(trials)));
  });
  const belowBest = meanOverTasks(
    kept.map((_, task) => mean(short.map((half) => half[task]!))),
    seed,
  );
  const rateOf = (iteration: number): number => mean(of(iteration).map((trials) => mean(trials)));
  return {
    ...{ base: rateOf(0), kept: rateOf(watch.kept), last: rateOf(iterations.at(-1)!) },
    belowBest,
    isBelow: belowBest.estimate > BELOW,
    isSurelyBelow: belowBest.low > BELOW,
    stoppedEarly: watch.ended !== null && watch.ended.iteration < iterations.at(-1)!,
  };
}

/** The figures of a whole measurement. */
export interface WatchedFigures {
  wrong: {
    trained: number;
    /** At the end of the training to the end a kind lost more than 5 points, by more than chance. */
    harmfulAtTheEnd: number;
    keptHarmless: number;
    keptHarmlessButForChance: number;
    harmedBy20Points: number;
    seenWithinTwoProbes: number;
  };
  good: { trained: number; stoppedEarly: number; keptBelowBest: number; keptSurelyBelowBest: number };
  met: Record<'keptHarmless' | 'seenWithinTwoProbes' | 'stoppedEarly' | 'keptBelowBest', boolean>;
}

/** Counts the verdicts. `met`: at least 9 of 10 harmless, all harm seen, at most one in twenty stopped, none below. */
export function figuresOf(wrong: readonly WrongVerdict[], good: readonly GoodVerdict[]): WatchedFigures {
  const count = <T>(all: readonly T[], holds: (one: T) => boolean | null): number => all.filter(holds).length;
  const figures = {
    wrong: {
      trained: wrong.length,
      harmfulAtTheEnd: count(wrong, ({ atTheEnd }) => atTheEnd.low > LOST),
      keptHarmless: count(wrong, ({ harmless }) => harmless),
      keptHarmlessButForChance: count(wrong, (one) => one.harmlessButForChance),
      harmedBy20Points: count(wrong, ({ harmedFrom }) => harmedFrom !== null),
      seenWithinTwoProbes: count(wrong, (one) => one.seenWithinTwoProbes),
    },
    good: {
      trained: good.length,
      stoppedEarly: count(good, ({ stoppedEarly }) => stoppedEarly),
      keptBelowBest: count(good, ({ isBelow }) => isBelow),
      keptSurelyBelowBest: count(good, ({ isSurelyBelow }) => isSurelyBelow),
    },
  };
  return {
    ...figures,
    met: {
      keptHarmless: figures.wrong.keptHarmless >= 0.9 * figures.wrong.trained,
      seenWithinTwoProbes: figures.wrong.seenWithinTwoProbes === figures.wrong.harmedBy20Points,
      stoppedEarly: figures.good.stoppedEarly <= Math.max(1, figures.good.trained / 20),
      keptBelowBest: figures.good.keptBelowBest === 0,
    },
  };
}
