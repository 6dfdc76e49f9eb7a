import { Context } from '@temporalio/activity';
import { preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { LlmActivities } from '../../contracts/messages/activities';
import type { Repetition } from '../../contracts/messages/repair';
import type { SynthesisInput, SynthesisResult } from '../../contracts/messages/sharpen-stage';
import { contentKey, type AnalystFactory } from '../../llm';
import { getJson, layout } from '../../store';
import { OneAttempt } from '../analyst/one-attempt';
import { RecordedCalls } from '../analyst/recorded-calls';
import { startProgress } from '../progress';
import { type MaterialDeps, materialReader } from './material';
import { SYNTHESIS_PROMPT_VERSION, synthesisAnswerSchema, synthesisMessages } from './prompt';

/** What the synthesis activity needs. */
export interface SynthesiseDeps extends MaterialDeps {
  analyst: AnalystFactory;
}

/** Activities of the synthesise stage (TRACE, arXiv 2604.05336, section 3). */
export function createSynthesiseActivities(deps: SynthesiseDeps): Pick<LlmActivities, 'synthesiseEnvironment'> {
  const readMaterial = materialReader(deps);
  const attempts = new OneAttempt();

  return {
    async synthesiseEnvironment(input: SynthesisInput, repetition?: Repetition): Promise<SynthesisResult> {
      const { context, capability, attempt } = input;
      const { heartbeat, cancellationSignal: signal } = Context.current();
      const prepared = await getJson(deps.store, context.spec, preparedSpecSchema);
      const analyst = deps.analyst(prepared, context);
      const progress = startProgress({ stage: 'sharpen', unit: 'environments', total: 1, heartbeat });
      const calls = await RecordedCalls.open(
        deps.store,
        context.runId,
        `analyst-synthesise-${capability.id}-${attempt}`,
        { analyst, attempts, signal, setNote: (note) => progress.setNote(note), repetition },
      );
      try {
        const messages = synthesisMessages(await readMaterial(input, prepared));
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
      } finally {
        progress.stop();
        await calls.close();
        await analyst.flushUsage();
      }
    },
  };
}
