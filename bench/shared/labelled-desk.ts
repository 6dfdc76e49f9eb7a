import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { collectTrajectories } from '../../activities/collect';
import { createIdentifyActivities } from '../../activities/identify';
import { HttpModelClient } from '../../activities/rollout';
import type { RolloutDeps } from '../../activities/rollout/rollout-deps';
import { solutionPlayer } from '../../activities/target-profile/play-solutions';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { identificationSchema } from '../../contracts/artifacts/identification';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { IdentifyInput, IdentifyResult } from '../../contracts/messages/identify-stage';
import type { CapabilityBrief, RunContext } from '../../contracts/messages/run-context';
import { openDeskRules } from '../../examples/orders-desk/analyst/answers';
import { Journal } from '../../examples/shared/analyst/journal';
import { createAnalystServer } from '../../examples/shared/analyst/server';
import { createAnalystPool } from '../../llm';
import { loadAgentSpec } from '../../loaders/agent-spec';
import { openEnvironment } from '../../sandbox';
import { getJson, layout, LocalStore, putJson } from '../../store';
import { DESK, preparedDemoSpec, trainModel, withModel } from './demo-model';
import { identifyOnce, runActivity } from './identify-without-server';

/** Which desk, and where its files are. */
export interface DeskOptions {
  seed: number;
  /** Of the store. */
  folder: string;
  /** Folder with trained models. */
  models: string;
  /** Fields of agent.yaml that are not the demo agent's. */
  calibration?: Partial<AgentSpec['calibration']>;
}

/** The demo agent after the stage `identify` of a run, while its base model and its analyst are served. */
export interface LabelledDesk {
  store: LocalStore;
  prepared: PreparedSpec;
  context: RunContext;
  collected: IdentifyInput['collected'];
  identified: IdentifyResult;
  rollout: RolloutDeps;
  analysts: ReturnType<typeof createAnalystPool>;
  /** The capability that was found for a planted deficit. @throws Error if none was. */
  briefOf: (deficit: string) => CapabilityBrief;
}

/**
 * Runs `action` with the demo agent's base model of a seed. Before it, the model is rolled out on its train tasks and
 * the demo analyst labels them, as in a run.
 */
export async function withLabelledDesk(
  { seed, folder, models, calibration = {} }: DeskOptions,
  action: (desk: LabelledDesk) => Promise<void>,
): Promise<void> {
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
      const identified = await identifyOnce(identify, { context, collected, independent: { firstRun: 0 } });
      const { planted } = await getJson(store, identified.identification, identificationSchema);
      const briefOf = (deficit: string) => foundBrief(identified.kept, planted?.found ?? [], deficit);
      await action({ store, prepared, context, collected, identified, rollout, analysts, briefOf });
    });
  } finally {
    await model.close();
    await analyst.close();
  }
}

/** The capability that identification found for a planted deficit: it has a name and an id of its own. */
function foundBrief(
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
