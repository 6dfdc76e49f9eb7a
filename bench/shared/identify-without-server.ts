import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { LlmActivities } from '../../contracts/messages/activities';
import type {
  IdentifyInput,
  IdentifyResult,
  LabelChunkResult,
  TallyResult,
} from '../../contracts/messages/identify-stage';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';

/** Runs an activity outside of a worker, in a context of its own. Rejects as the activity does. */
export function runActivity<I, R>(activity: (input: I) => Promise<R>, input: I): Promise<R> {
  const environment = new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') });
  return environment.run<[I], R, (input: I) => Promise<R>>(activity, input);
}

type IdentifyActivities = Omit<LlmActivities, 'synthesiseEnvironment' | 'readEnvironment'>;

/**
 * Runs the stage `identify` as its workflow does, but without a Temporal server. For measurements of what it finds, not
 * of what it costs.
 */
export async function identifyOnce(activities: IdentifyActivities, input: IdentifyInput): Promise<IdentifyResult> {
  const { context, collected, independent } = input;
  const { trajectories } = collected;
  const discovery = await runActivity(activities.discoverCandidates, input);
  const totals: LabelChunkResult = {
    asked: 0,
    reused: 0,
    unlabelled: 0,
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
  };
  const tallies: TallyResult[] = [];
  let open: ArtifactRef | null = discovery.count > 0 ? discovery.candidates : null;
  for (let run = 0; open !== null; run++) {
    const plan = await runActivity(activities.planLabels, {
      ...input,
      candidates: open,
      run: (independent?.firstRun ?? 0) + run,
    });
    const labelling = { context, plan, trajectories, candidates: open };
    for (let chunk = 0; chunk < plan.chunks; chunk++) {
      const result = await runActivity(activities.labelChunk, { ...labelling, chunk });
      for (const name of Object.keys(totals) as (keyof LabelChunkResult)[]) totals[name] += result[name];
    }
    const previous: ArtifactRef | null = tallies.at(-1)?.tally ?? null;
    const tally = await runActivity(activities.tallyRun, {
      ...labelling,
      run,
      discovered: discovery.candidates,
      totals,
      previous,
    });
    tallies.push(tally);
    open = tally.open;
  }
  const tally = tallies.at(-1)?.tally ?? null;
  return runActivity(activities.contrastCapabilities, {
    context,
    trajectories,
    discovery,
    tally,
    totals,
    ...(independent && { independent }),
  });
}
