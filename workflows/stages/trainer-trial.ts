import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { TrialManifest } from '../../contracts/artifacts/training';
import type { RunPlan } from '../../contracts/messages/run';
import { TRIAL } from '../../contracts/names';
import { jobs } from '../shared/activities';
import type { Run } from '../waits/run';
import type { RunProgressTable } from '../waits/run-progress-table';

/** The trial of a trainer, which runs in parallel with the first stage. */
export interface TrainerTrial {
  /** Resolves when the trial has passed or a person has skipped it. Throws when the run is cancelled. */
  passed(): Promise<void>;
  /** Stops the trial when the run ends. Resolves when its trainer has stopped. Never throws. */
  abandon(): Promise<void>;
}

/**
 * Starts a trainer that tests the needs of a training but trains nothing. Neither the trial nor the first stage calls
 * the analyst, so both run in parallel. After a failure the run waits for a person. A person may also skip the trial at
 * any time, because a busy cluster may queue it for long.
 */
export function startTrial(plan: RunPlan, { table, gates, skippable }: Run): TrainerTrial {
  const run = CancellationScope.current();
  const scope = new CancellationScope();
  const dropLine = table.keepLine(TRIAL);
  // The context is read at each attempt, because `whet retry RUN --spec` changes it.
  const tried = () => jobs.tryTraining.executeWithOptions({ summary: 'trial of a trainer' }, [plan.context]);
  skippable.set(TRIAL, () => scope.cancel());
  const ended = scope
    .run(() => gates.performUnlessSkipped(TRIAL, tried))
    .then(
      (found) => showEnd(table, found),
      (error: unknown) => {
        // Skipped by a person while it ran.
        if (isCancellation(error) && !run.consideredCancelled) return showEnd(table, null);
        return { error };
      },
    )
    .finally(() => {
      skippable.delete(TRIAL);
      dropLine();
    });
  return {
    async passed() {
      const failed = await ended;
      if (failed !== null) throw failed.error;
    },
    async abandon() {
      scope.cancel();
      await ended;
    },
  };
}

function showEnd(table: RunProgressTable, found: TrialManifest | null): null {
  table.update({ key: TRIAL, text: found === null ? 'skipped by a person' : describe(found), waitingFor: null });
  return null;
}

/** `passed on 2 x NVIDIA H100 80GB HBM3, torch 2.15.0, trainer 0.1.0`. */
function describe({ devices, packages, trainerVersion }: TrialManifest): string {
  const names = [...new Set(devices.map(({ name }) => name))];
  const gpus = names.map((name) => `${devices.filter((device) => device.name === name).length} x ${name}`);
  const where = gpus.length === 0 ? '' : ` on ${gpus.join(', ')}`;
  return `passed${where}, torch ${packages['torch'] ?? '?'}, trainer ${trainerVersion}`;
}
