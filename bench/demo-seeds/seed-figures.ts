/** What one seed's run of the demo says of routing. */
import { mean } from '../../activities/statistics/mean';
import type { Interval } from '../../contracts/artifacts/evaluation';
import { boughtRollouts, switchesLater } from '../../contracts/artifacts/router-choice';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import { getLines } from '../../store';
import { artifactOf, type FinishedRun } from '../worlds/finished-run';

/** Figures of one run. Rates are shares of held-out tasks passed, over all trials. */
export interface SeedFigures {
  seed: number;
  verdict: string;
  /** Ids of the capabilities that were sharpened. */
  capabilities: string[];
  router: string;
  severalNeeds: boolean;
  moves: boolean;
  routingRollouts: number;
  base: number;
  bestSingle: number;
  mixed: number | null;
  served: Interval;
  oracle: number;
  ceiling: number;
  servedMinusBase: Interval;
  /** Null without the mixed adapter. */
  servedMinusMixed: Interval | null;
  kinds: KindFigures[];
}

/** Held-out tasks that need the same planted habits. */
export interface KindFigures {
  /** The habit, `several` for two or more, `none` for tasks that need none of them. */
  kind: string;
  tasks: number;
  base: number;
  served: number;
  mixed: number | null;
}

/** Reads a finished run that was evaluated. @throws Error for one that was not. */
export async function seedFigures(run: FinishedRun): Promise<SeedFigures> {
  const { report } = run;
  const { evaluation } = report;
  if (evaluation === null) throw new Error(`${report.runId} ended as ${report.verdict}, without an evaluation.`);
  const { choice } = evaluation.router;
  return {
    seed: report.seed,
    verdict: report.verdict,
    capabilities: report.sharpened.filter(({ adapter }) => adapter !== null).map(({ capability }) => capability.id),
    router: choice?.chosen ?? 'logits',
    severalNeeds: choice?.severalNeeds?.adopted ?? false,
    moves: choice ? switchesLater(choice) : false,
    routingRollouts: choice ? boughtRollouts(choice) : 0,
    base: evaluation.base.passRate.estimate,
    bestSingle: evaluation.bestSingle.passRate.estimate,
    mixed: evaluation.mixed?.passRate.estimate ?? null,
    served: evaluation.routed.passRate,
    oracle: evaluation.oracle.passRate.estimate,
    ceiling: evaluation.oracleCeiling,
    servedMinusBase: evaluation.routedMinusBase,
    servedMinusMixed: evaluation.routedMinusMixed ?? null,
    kinds: await kindsOf(run),
  };
}

async function kindsOf(run: FinishedRun): Promise<KindFigures[]> {
  const planted = run.prepared.spec.groundTruth?.planted ?? [];
  const [base, served, mixed] = await Promise.all(['base', 'routed', 'mixed'].map((arm) => ratesByTask(run, arm)));
  const tasks = [...served!].filter(([, { tags }]) => tags !== undefined);
  if (tasks.every(([, { tags }]) => tags.length === 0)) return [];
  const kindOf = (tags: readonly string[]) => {
    const needs = tags.filter((tag) => planted.includes(tag));
    return needs.length > 1 ? 'several' : (needs[0] ?? 'none');
  };
  const kinds = [...new Set(tasks.map(([, { tags }]) => kindOf(tags)))].sort();
  return kinds.map((kind) => {
    const seeds = tasks.filter(([, { tags }]) => kindOf(tags) === kind).map(([seed]) => seed);
    const rate = (arm: Map<number, Outcomes> | undefined) =>
      mean(seeds.flatMap((seed) => arm?.get(seed)?.passes ?? []));
    return {
      ...{ kind, tasks: seeds.length, base: rate(base), served: rate(served) },
      mixed: mixed!.size === 0 ? null : rate(mixed),
    };
  });
}

interface Outcomes {
  tags: readonly string[];
  /** Passes (1) and failures (0), one for each trial. */
  passes: number[];
}

/** Outcomes of an arm by the seeds of tasks; empty for an arm that was not played. */
async function ratesByTask(run: FinishedRun, arm: string): Promise<Map<number, Outcomes>> {
  const role = `held-out trajectories of ${arm}`;
  const found = new Map<number, Outcomes>();
  if (!run.report.artifacts.some((artifact) => artifact.role === role)) return found;
  for (const { task, tags, success } of await getLines(run.store, artifactOf(run.report, role), trajectorySchema)) {
    const outcomes = found.get(task.seed) ?? { tags, passes: [] };
    outcomes.passes.push(success ? 1 : 0);
    found.set(task.seed, outcomes);
  }
  return found;
}
