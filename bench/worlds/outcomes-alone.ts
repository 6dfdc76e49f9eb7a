/** What a router would have earned that learns from the outcomes which the competition bought (docs/adr/0015). */
import { fitOutcomes } from '../../activities/evaluate/choose-router/fit-outcomes';
import { openRouter } from '../../contracts/routing/choose-arm';
import { MIXED } from '../../contracts/names';
import type { Way } from './ablation';
import { boughtOutcomes } from './bought-outcomes';
import type { FinishedRun } from './finished-run';
import { ratesOf } from './outcome-figures';
import type { PlayedArms } from './play-arms';

/** That of the regressions of labels in most worlds. */
const RIDGE = 0.1;

/** Without labels, and with the mixed adapter among the arms: learned from all that the run's competition bought. */
export async function outcomesAlone(run: FinishedRun, table: PlayedArms): Promise<Way[]> {
  const { tasks, known, rollouts } = await boughtOutcomes(run);
  const all = [...rollouts.keys()];
  const single = all.filter((arm) => arm !== MIXED);
  const variants = [
    { name: '`outcomes`, no labels', arms: single, settings: { ridge: RIDGE, priorTrials: 0 } },
    { name: '`outcomes`, mixed among its arms', arms: all, settings: { ridge: RIDGE } },
  ];
  const ways: Way[] = [];
  for (const { name, arms, settings } of variants) {
    const chooser = openRouter(await fitOutcomes({ tasks, arms, known }, settings));
    const bought = arms.reduce((sum, arm) => sum + rollouts.get(arm)!, 0);
    ways.push({
      name,
      rates: ratesOf(table, (task) => chooser.choose(table.openings[task]!, null).capabilityId),
      rollouts: bought,
    });
  }
  return ways;
}
