/**
 * Measures identification where a capability goes along with the causes of failure. Labels and outcomes are drawn from
 * twenty small made-up worlds; no model plays. Three rules judge the same labels: the paper's thresholds of gap and
 * coverage in a quorum of runs, these with a significant gap, and the service's rule. It also measures how often the
 * interval of a partial effect contains the truth. The last line is JSON.
 *
 *     node dist/bench/causes.js [--tasks 300] [--trials 2] [--runs 10] [--seeds 10] [--draws 2000] [--seed 1]
 */
import { labelledEpisodes } from '../activities/identify/causes/labelled-episodes';
import { overlapWeights, partialEffect } from '../activities/identify/causes/partial-effect';
import { consensusCodes } from '../activities/identify/verdicts/consensus-vote';
import { contrastCandidates } from '../activities/identify/verdicts/contrast-candidates';
import { mean } from '../activities/statistics/mean';
import { randomSource } from '../activities/statistics/random';
import { candidateNames, drawWorld, failureChance, type World, WORLDS } from './causes/draw-world';
import { wholeNumberOptions } from './shared/whole-numbers';

const DEFAULTS = { tasks: 300, trials: 2, runs: 10, seeds: 10, draws: 2000, seed: 1 };
type Options = typeof DEFAULTS;
const LARGE_SAMPLE = { tasks: 50_000, trials: 1, runs: 0 };

interface Counts {
  planted: number;
  found: number;
  foundByThresholds: number;
  foundByContrast: number;
  decoys: number;
  decoysKept: number;
  decoysKeptByThresholds: number;
  decoysKeptByContrast: number;
  harmlessKept: number;
  inseparable: number;
  untrainable: number;
  notTrainable: number;
}

/** What each rule keeps in one draw of a world. */
function judgeDraw(world: World, options: Options, seed: number, counts: Counts): void {
  const { outcomes, labels } = drawWorld(world, options, randomSource(seed));
  const names = candidateNames(world);
  const quorum = Math.ceil(0.8 * options.runs);
  const rule = { minGap: 0.2, minCoverage: 0.1, runs: options.runs, quorum, familywiseError: 0.05 };
  const contrasts = contrastCandidates(
    names.map((id, c) => ({ id, labels: labels[c]! })),
    outcomes,
    rule,
  );
  for (const { capabilityId, verdict, runsPassed, adjustedPValue, partial } of contrasts) {
    const byThresholds = runsPassed >= quorum;
    const byContrast = byThresholds && adjustedPValue <= rule.familywiseError;
    if (capabilityId.startsWith('cause')) {
      counts.planted++;
      if (verdict === 'kept') counts.found++;
      if (byThresholds) counts.foundByThresholds++;
      if (byContrast) counts.foundByContrast++;
    } else if (capabilityId === 'missing-tool') {
      counts.untrainable++;
      if (verdict === 'not-trainable') counts.notTrainable++;
    } else if (capabilityId === 'harmless') {
      if (verdict === 'kept') counts.harmlessKept++;
    } else {
      counts.decoys++;
      if (verdict === 'kept') counts.decoysKept++;
      if (byThresholds) counts.decoysKeptByThresholds++;
      if (byContrast) counts.decoysKeptByContrast++;
    }
    if (partial.goesWith !== null && verdict === 'not-enough-data') counts.inseparable++;
  }
}

/** True partial effect of each cause: the risk difference standardised over the episodes that the estimate weights. */
function trueEffects(world: World, seed: number): number[] {
  const { truth } = drawWorld(world, LARGE_SAMPLE, randomSource(seed));
  return [...world.causes.keys(), world.causes.length].map((c) => {
    const { rows, overlap } = overlapWeights(truth, c);
    const total = overlap.reduce((a, b) => a + b, 0);
    return rows.reduce((sum, i, r) => {
      const difference = failureChance(world, truth, i, c, true) - failureChance(world, truth, i, c, false);
      return sum + (overlap[r]! * difference) / total;
    }, 0);
  });
}

function main(): void {
  const options = wholeNumberOptions(DEFAULTS);
  const began = Date.now();
  const counts: Counts = {
    planted: 0,
    found: 0,
    foundByThresholds: 0,
    foundByContrast: 0,
    decoys: 0,
    decoysKept: 0,
    decoysKeptByThresholds: 0,
    decoysKeptByContrast: 0,
    harmlessKept: 0,
    inseparable: 0,
    untrainable: 0,
    notTrainable: 0,
  };
  const covered: number[] = [];
  WORLDS.forEach((world, w) => {
    const seedOf = (draw: number) => options.seed * 1_000_003 + w * 10_007 + draw;
    const before = { ...counts };
    for (let s = 0; s < options.seeds; s++) judgeDraw(world, options, seedOf(s), counts);
    const truth = trueEffects(world, seedOf(-1));
    const own: number[] = [];
    for (let d = 0; d < options.draws / WORLDS.length; d++) {
      const { outcomes, labels } = drawWorld(world, options, randomSource(seedOf(1000 + d)));
      const episodes = labelledEpisodes(labels.map(consensusCodes), outcomes);
      truth.forEach((value, c) => {
        const { effect } = partialEffect(episodes, c);
        if (effect !== null) own.push(effect.low <= value && value <= effect.high ? 1 : 0);
      });
    }
    covered.push(...own);
    const since = (name: keyof Counts) => counts[name] - before[name];
    console.log(
      `${world.name}: found ${since('found')} of ${since('planted')} (thresholds ${since('foundByThresholds')}, contrast ` +
        `${since('foundByContrast')}), ` +
        `decoys kept ${since('decoysKept')} of ${since('decoys')} (${since('decoysKeptByThresholds')}, ` +
        `${since('decoysKeptByContrast')}), harmless ones kept ${since('harmlessKept')}, ` +
        `inseparable ${since('inseparable')}, not trainable ${since('notTrainable')} of ${since('untrainable')}, ` +
        `intervals cover ${(100 * mean(own)).toFixed(1)} %`,
    );
  });
  console.log(
    JSON.stringify({
      name: 'causes',
      worlds: WORLDS.length,
      tasks: options.tasks,
      seeds: options.seeds,
      draws: options.draws,
      ...counts,
      coverage: Number(mean(covered).toFixed(4)),
      intervals: covered.length,
      seconds: Math.round((Date.now() - began) / 1000),
    }),
  );
}

main();
