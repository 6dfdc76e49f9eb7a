import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { collectTrajectories } from '../../activities/collect';
import { calibrateEnvironment } from '../../activities/calibrate/calibrate-environment';
import { createIdentifyActivities } from '../../activities/identify';
import { solutionPlayer } from '../../activities/target-profile/play-solutions';
import { HttpModelClient } from '../../activities/rollout';
import { createSecondReaderActivities } from '../../activities/second-reader';
import { targetProfileReader } from '../../activities/target-profile/read-target-profile';
import { certificateSchema } from '../../contracts/artifacts/certificate';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { Validation } from '../../contracts/artifacts/environment-check';
import { identificationSchema } from '../../contracts/artifacts/identification';
import type { CapabilityBrief } from '../../contracts/messages/run-context';
import { openDeskRules } from '../../examples/orders-desk/analyst/answers';
import { Journal } from '../../examples/shared/analyst/journal';
import { createAnalystServer } from '../../examples/shared/analyst/server';
import { createAnalystPool } from '../../llm';
import { loadAgentSpec } from '../../loaders/agent-spec';
import { openEnvironment } from '../../sandbox';
import { getJson, layout, LocalStore, putJson } from '../../store';
import { identifyOnce, runActivity } from '../shared/identify-without-server';
import { DESK, preparedDemoSpec, trainModel, withModel } from '../shared/demo-model';
import type { CheckRun, FixtureRun } from './check-fixture';

/**
 * Calibrates one fixture, and lets the second reader read it if it is in band; resolves with the checks that this adds
 * to its certificate.
 */
export type Calibrate = (run: FixtureRun) => Promise<CheckRun[]>;

/** How fixtures are calibrated. */
interface CalibrationOptions {
  seed: number;
  /** Of the store. */
  folder: string;
  /** Folder with trained models. */
  models: string;
  /** Fields of agent.yaml that are not the demo agent's. */
  calibration?: Partial<AgentSpec['calibration']>;
}

/**
 * Runs `action` with the demo agent's base model of a seed. Before it, the model is rolled out on its train tasks and
 * the demo analyst labels them, as in a run: the estimate of transfer and the second reader need both.
 */
export async function withCalibration(
  { seed, folder, models, calibration = {} }: CalibrationOptions,
  action: (calibrate: Calibrate) => Promise<void>,
) {
  const store = new LocalStore(folder);
  await mkdir(folder, { recursive: true });
  const given = loadAgentSpec(join(DESK, 'agent.yaml'));
  const spec = { ...given, calibration: { ...given.calibration, ...calibration } };
  const modelPath = await trainModel(seed, 'demo', models);
  const analyst = createAnalystServer({ rules: openDeskRules(join(DESK, 'analyst')), journal: new Journal(null) });
  const analystUrl = `${await analyst.listen({ port: 0, host: '127.0.0.1' })}/v1`;
  const model = new HttpModelClient({ timeoutMs: 120_000 });
  const rollout = { store, openEnvironment, model, endpoints: { modelUrl: null } };
  try {
    await withModel(modelPath, spec.model.name, async (modelUrl) => {
      const runId = `run-${spec.name}-certificate`;
      const prepared = await preparedDemoSpec(spec, seed, modelPath, modelUrl, analystUrl);
      const context = {
        runId,
        agent: spec.name,
        spec: await putJson(store, layout.run(runId), 'spec.json', prepared),
        seed,
      };
      const collected = await runActivity(collectTrajectories.bind(null, rollout), context);
      const analysts = createAnalystPool('none');
      const identify = createIdentifyActivities({ store, analyst: analysts, player: solutionPlayer(rollout) });
      const profileOfTarget = targetProfileReader(rollout);
      const { readEnvironment } = createSecondReaderActivities({ store, analyst: analysts, profileOfTarget });
      const identified = await identifyOnce(identify, { context, collected, independent: { firstRun: 0 } });
      const { planted } = await getJson(store, identified.identification, identificationSchema);
      let attempts = 0;
      await action(async ({ fixture, runs }) => {
        const began = performance.now();
        const capability = briefOf(identified.kept, planted?.found ?? [], fixture.capability);
        const place = join(layout.environments(runId, capability.id), fixture.name);
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
  } finally {
    await model.close();
    await analyst.close();
  }
}

/** The capability that identification found for a planted deficit: it has a name and an id of its own. */
function briefOf(
  kept: readonly CapabilityBrief[],
  found: readonly { planted: string; capabilityId: string }[],
  deficit: string,
): CapabilityBrief {
  const id = found.find(({ planted }) => planted === deficit)?.capabilityId;
  const brief = kept.find((capability) => capability.id === id);
  if (brief === undefined)
    throw new Error(
      `Identification did not find ${deficit}, only ${found.map(({ planted }) => planted).join(', ') || 'none'}. ` +
        'Take another --seed.',
    );
  return brief;
}
