import { Context } from '@temporalio/activity';
import {
  type ConsensusLabel,
  consensusLabelSchema,
  identificationSchema,
} from '../../contracts/artifacts/identification';
import { type PreparedSpec, preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { LlmActivities } from '../../contracts/messages/activities';
import type { SynthesisInput, SynthesisResult } from '../../contracts/messages/sharpen-stage';
import { storedCalibrationSchema, storedValidationSchema } from '../stored-environment-attempts';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { contentKey, type AnalystFactory } from '../../llm';
import { getJson, layout, lineFiles, type ArtifactStore } from '../../store';
import { RecordedCalls } from '../analyst/recorded-calls';
import { startProgress } from '../progress';
import { chooseEvidence, sampleTarget } from './evidence';
import { SYNTHESIS_PROMPT_VERSION, synthesisAnswerSchema, synthesisMessages, type SynthesisMaterial } from './prompt';

/** Number of trajectories, besides the evidence, from which openings and observations are sampled. */
const SAMPLED_TRAJECTORIES = 200;

/** What the synthesis activity needs. */
export interface SynthesiseDeps {
  store: ArtifactStore;
  analyst: AnalystFactory;
  /** What `describe` of the agent's own environment answers. */
  describeTarget(prepared: PreparedSpec): Promise<{ tools: EnvironmentTool[] }>;
}

/** Activities of the synthesise stage (TRACE, arXiv 2604.05336, section 3). */
export function createSynthesiseActivities(deps: SynthesiseDeps): Pick<LlmActivities, 'synthesiseEnvironment'> {
  const trajectoriesOf = lineFiles(deps.store, trajectorySchema);
  const labelsOf = lineFiles(deps.store, consensusLabelSchema);

  async function material(input: SynthesisInput, prepared: PreparedSpec): Promise<SynthesisMaterial> {
    const { context, capability } = input;
    const identification = await getJson(deps.store, input.identification, identificationSchema);
    const candidate = identification.candidates.find(({ id }) => id === capability.id);
    if (!candidate)
      throw new RangeError(`The identification ${input.identification.key} has no capability ${capability.id}.`);
    const trajectories = await trajectoriesOf(input.trajectories);
    const success = new Map<string, boolean>();
    const indexOf = new Map<string, number>();
    for await (const trajectory of trajectories) {
      indexOf.set(trajectory.id, indexOf.size);
      success.set(trajectory.id, trajectory.success);
    }
    const own: ConsensusLabel[] = [];
    for await (const label of await labelsOf(input.labels)) {
      if (label.capabilityId === capability.id) own.push(label);
    }
    const chosen = chooseEvidence(own, success, context.seed);
    const evidence = chosen.map((label) => ({
      label,
      trajectory: trajectories.at(indexOf.get(label.trajectoryId) as number),
    }));
    const others = Array.from({ length: Math.min(SAMPLED_TRAJECTORIES, trajectories.length) }, (_, i) =>
      trajectories.at(i),
    );
    const { tools } = await deps.describeTarget(prepared);
    return {
      capability: candidate,
      tools,
      samples: sampleTarget([...evidence.map(({ trajectory }) => trajectory), ...others]),
      evidence,
      previous: await rejected(deps.store, input),
    };
  }

  return {
    async synthesiseEnvironment(input: SynthesisInput): Promise<SynthesisResult> {
      const { context, capability, attempt } = input;
      const { heartbeat, cancellationSignal: signal } = Context.current();
      const prepared = await getJson(deps.store, context.spec, preparedSpecSchema);
      const analyst = deps.analyst(prepared, context);
      const progress = startProgress({ stage: 'sharpen', unit: 'environments', total: 1, heartbeat });
      const calls = await RecordedCalls.open(
        deps.store,
        context.runId,
        `analyst-synthesise-${capability.id}-${attempt}`,
      );
      try {
        const messages = synthesisMessages(await material(input, prepared));
        const key = contentKey(
          'synthesise',
          SYNTHESIS_PROMPT_VERSION,
          analyst.model,
          String(attempt),
          JSON.stringify(messages),
        );
        const { value, record } = await calls.ask(analyst, {
          kind: 'synthesise',
          key,
          messages,
          schema: synthesisAnswerSchema,
          signal,
        });
        const source = await deps.store.put(
          layout.environments(context.runId, capability.id),
          `attempt-${attempt}.py`,
          value.source,
        );
        progress.advance();
        return {
          source,
          promptTokens: record.promptTokens,
          completionTokens: record.completionTokens,
          model: record.model,
        };
      } finally {
        progress.stop();
        await calls.close();
        await analyst.flushUsage();
      }
    },
  };
}

async function rejected(
  store: ArtifactStore,
  { previous, outOfBand }: SynthesisInput,
): Promise<SynthesisMaterial['previous']> {
  if (previous === null) return null;
  return {
    attempt: previous.attempt,
    source: (await store.get(previous.source)).toString('utf8'),
    validation: await getJson(store, previous.validation, storedValidationSchema),
    calibration: previous.calibration && (await getJson(store, previous.calibration, storedCalibrationSchema)),
    outOfBand,
  };
}
