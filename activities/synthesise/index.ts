import { Context } from '@temporalio/activity';
import { reusableEnvironmentSchema } from '../../contracts/artifacts/reuse';
import { type PreparedSpec, preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { LlmActivities } from '../../contracts/messages/activities';
import type { Repetition } from '../../contracts/messages/repair';
import type { SynthesisInput, SynthesisResult } from '../../contracts/messages/sharpen-stage';
import { contentKey, type AnalystFactory } from '../../llm';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { getJson, layout } from '../../store';
import { OneAttempt } from '../analyst/one-attempt';
import { RecordedCalls } from '../analyst/recorded-calls';
import { Progress } from '../progress';
import { environmentKeyOf } from '../reuse/environment-inputs';
import { takeReusable } from '../reuse/reuse-records';
import { type MaterialDeps, materialReader } from './material';
import { SYNTHESIS_PROMPT_VERSION, synthesisAnswerSchema, synthesisMessages } from './prompt';

/** The dependencies of the synthesis activity. */
export interface SynthesiseDeps extends MaterialDeps {
  analyst: AnalystFactory;
}

/** Activities of the synthesise stage (TRACE, arXiv 2604.05336, section 3). */
export function createSynthesiseActivities(deps: SynthesiseDeps): Pick<LlmActivities, 'synthesiseEnvironment'> {
  const readMaterial = materialReader(deps);
  const attempts = new OneAttempt();

  return {
    /**
     * Asks the analyst for an environment. The first attempt takes an earlier run's certified environment for the same
     * capability and tools. It is validated against today's target like any other.
     */
    async synthesiseEnvironment(input: SynthesisInput, repetition?: Repetition): Promise<SynthesisResult> {
      const { context, capability, attempt } = input;
      const { cancellationSignal: signal } = Context.current();
      const prepared = await getJson(deps.store, context.spec, preparedSpecSchema);
      const analyst = deps.analyst(prepared, context);
      using progress = new Progress({ stage: 'sharpen', unit: 'environments', total: 1 });
      progress.setNote("reads the agent's own environment");
      const known = await certifiedBefore(deps, prepared, input);
      if (known !== null) return { ...known, promptTokens: 0, completionTokens: 0, model: analyst.model };
      await using calls = await RecordedCalls.open(
        deps.store,
        context.runId,
        `analyst-synthesise-${capability.id}-${attempt}`,
        { analyst, attempts, signal, setNote: (note) => progress.setNote(note), repetition },
      );
      const messages = synthesisMessages(await readMaterial(input, prepared, signal));
      progress.setNote(undefined);
      const key = contentKey(
        'synthesise',
        SYNTHESIS_PROMPT_VERSION,
        analyst.model,
        String(attempt),
        JSON.stringify(messages),
      );
      const { value, record } = await calls.ask({
        kind: 'synthesise',
        key,
        messages,
        schema: synthesisAnswerSchema,
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
    },
  };
}

/** The certified environment of an earlier run, copied into this run's folder. Null if there is none to reuse. */
async function certifiedBefore(
  deps: SynthesiseDeps,
  prepared: PreparedSpec,
  input: SynthesisInput,
): Promise<{ source: ArtifactRef; reusedFrom: string } | null> {
  const { context, capability, attempt, previous } = input;
  if (attempt > 1 || previous !== null) return null;
  const { store } = deps;
  const { tools } = await deps.profileOfTarget(context, prepared, Context.current().cancellationSignal);
  const key = await environmentKeyOf(store, input, tools);
  return takeReusable(store, context.agent, key, reusableEnvironmentSchema, async ({ runId, source }) =>
    // If a repair repeats the run's own attempt, the attempt repeats the recorded question.
    runId === context.runId
      ? null
      : {
          source: await store.put(
            layout.environments(context.runId, capability.id),
            `attempt-${attempt}.py`,
            await store.get(source),
          ),
          reusedFrom: runId,
        },
  );
}
