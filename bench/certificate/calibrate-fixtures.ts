import { join } from 'node:path';
import { calibrateEnvironment } from '../../activities/calibrate/calibrate-environment';
import { createSecondReaderActivities } from '../../activities/second-reader';
import { targetProfileReader } from '../../activities/target-profile/read-target-profile';
import { certificateSchema } from '../../contracts/artifacts/certificate';
import type { Validation } from '../../contracts/artifacts/environment-check';
import { getJson, layout, putJson } from '../../store';
import { runActivity } from '../shared/identify-without-server';
import { type DeskOptions, withLabelledDesk } from '../shared/labelled-desk';
import type { CheckRun, FixtureRun } from './check-fixture';

/**
 * Calibrates one fixture, and lets the second reader read it if it is in band; resolves with the checks that this adds
 * to its certificate.
 */
export type Calibrate = (run: FixtureRun) => Promise<CheckRun[]>;

/**
 * Runs `action` with the demo agent's base model of a seed, whose train tasks are labelled: the estimate of transfer
 * and the second reader need both.
 */
export async function withCalibration(options: DeskOptions, action: (calibrate: Calibrate) => Promise<void>) {
  await withLabelledDesk(options, async ({ store, context, collected, identified, rollout, analysts, briefOf }) => {
    const { readEnvironment } = createSecondReaderActivities({
      ...{ store, analyst: analysts, profileOfTarget: targetProfileReader(rollout) },
    });
    let attempts = 0;
    await action(async ({ fixture, runs }) => {
      const began = performance.now();
      const capability = briefOf(fixture.capability);
      const place = join(layout.environments(context.runId, capability.id), fixture.name);
      const validation: Validation = { passed: true, problems: [], checks: runs.map(({ check }) => check) };
      const source = await store.put(place, 'environment.py', Buffer.from(fixture.source));
      const { trajectories } = collected;
      const { identification, labels } = identified;
      const input = { context, capability, source, trajectories, labels };
      const outcome = await runActivity(calibrateEnvironment.bind(null, rollout), {
        ...input,
        validation: await putJson(store, place, 'validation.json', validation),
      });
      const { toRead, detail: calibration, certificate } = outcome;
      const attempt = ++attempts;
      const last =
        toRead === undefined
          ? outcome
          : await runActivity(readEnvironment, {
              ...input,
              identification,
              attempt,
              toRead,
              calibration,
              certificate,
            });
      const seconds = (performance.now() - began) / 1000;
      const { checks } = await getJson(store, last.certificate, certificateSchema);
      const known = new Set(runs.map(({ check }) => check.name));
      // The time belongs to all that calibration adds; the first of them stands for it.
      return checks
        .filter(({ name }) => !known.has(name))
        .map((check, index) => ({ check, seconds: index === 0 ? seconds : 0 }));
    });
  });
}
