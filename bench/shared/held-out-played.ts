import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expandSeedRanges } from '../../activities/evaluate/expand-seed-ranges';
import { evaluationPlanSchema } from '../../contracts/artifacts/evaluation-plan';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { layout, type LocalStore } from '../../store';

/** Seeds of the held-out tasks that a run judged on, and how often each arm played one. */
export interface HeldOutPlayed {
  seeds: number[];
  trials: number;
}

/** What a finished run's plan says; runs from before there was one judged on all held-out tasks. */
export function heldOutPlayed(store: LocalStore, runId: string, spec: AgentSpec): HeldOutPlayed {
  const folder = store.localPath(layout.evaluation(runId));
  // A run that was compared with two versions has two plans, about the same tasks.
  const file = existsSync(folder) && readdirSync(folder).find((name) => /^evaluation-plan-.*\.json$/.test(name));
  const { environment, evaluation } = spec;
  if (!file) return { seeds: expandSeedRanges([environment.heldOutSeeds]), trials: evaluation.trials };
  const { rotation, trials } = evaluationPlanSchema.parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
  return { seeds: expandSeedRanges(rotation?.seeds ?? [environment.heldOutSeeds]), trials };
}
