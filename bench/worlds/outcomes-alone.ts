/** What a router would have earned that learns from the outcomes which the competition bought (docs/adr/0015). */
import { MIXED } from '../../contracts/names';
import type { Way } from './ablation';
import { boughtOutcomes } from './bought-outcomes';
import type { FinishedRun } from './finished-run';
import { ratesOf } from './outcome-figures';
import { outcomesRouter, SETTINGS } from './outcomes-router';
import type { PlayedArms } from './play-arms';

/** Three such routers: without the labels, with them, and with the mixed adapter among the arms as well. */
export async function outcomesAlone(run: FinishedRun, table: PlayedArms): Promise<Way[]> {
  const { tasks, known, rollouts } = await boughtOutcomes(run);
  const all = [...rollouts.keys()];
  const single = all.filter((arm) => arm !== MIXED);
  const variants = [
    { name: '`outcomes` alone, no labels', arms: single, priorTrials: 0 },
    { name: '`outcomes` alone', arms: single, priorTrials: SETTINGS.priorTrials },
    { name: '`outcomes` alone, mixed among its arms', arms: all, priorTrials: SETTINGS.priorTrials },
  ];
  const ways: Way[] = [];
  for (const { name, arms, priorTrials } of variants) {
    const choose = await outcomesRouter(tasks, arms, (seed, arm) => known.of(seed, arm), { ...SETTINGS, priorTrials });
    const bought = arms.reduce((sum, arm) => sum + rollouts.get(arm)!, 0);
    ways.push({ name, rates: ratesOf(table, (task) => choose(table.openings[task]!)), rollouts: bought });
  }
  return ways;
}
