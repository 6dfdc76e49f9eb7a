import { Context } from '@temporalio/activity';
import { reusableDeclineSchema, reusableEnvironmentSchema } from '../../contracts/artifacts/reuse';
import { type PreparedSpec, preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import type { LlmActivities } from '../../contracts/messages/activities';
import type { Repetition } from '../../contracts/messages/repair';
import type { SynthesisInput, SynthesisResult } from '../../contracts/messages/sharpen-stage';
import { startOf } from '../../contracts/clean-text';
import { contentKey, type AnalystFactory } from '../../llm';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type ArtifactStore, getJson, layout } from '../../store';
import { OneAttempt } from '../analyst/one-attempt';
import { RecordedCalls } from '../analyst/recorded-calls';
import { Progress } from '../progress';
import { declineKey, type ReuseKey } from '../reuse/content-keys';
import { environmentInputs, environmentKeyOf } from '../reuse/environment-inputs';
import { keepReusable, takeReusable } from '../reuse/reuse-records';
import { type MaterialDeps, materialReader } from './material';
import { SYNTHESIS_PROMPT_VERSION, synthesisAnswerSchema, synthesisMessages } from './prompt';
import { againstDecline, type TargetRate } from './target-rate';

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
     * capability and tools. It is validated against today's target like any other. If an earlier run's analyst declined
     * with the same inputs, it is not asked again, unless a person says so.
     */
    async synthesiseEnvironment(input: SynthesisInput, repetition?: Repetition): Promise<SynthesisResult> {
      const { context, capability, attempt, declines = 0 } = input;
      const { cancellationSignal: signal } = Context.current();
      const prepared = await getJson(deps.store, context.spec, preparedSpecSchema);
      const analyst = deps.analyst(prepared, context);
      using progress = new Progress({ stage: 'sharpen', unit: 'environments', total: 1 });
      progress.setNote("reads the agent's own environment");
      const unasked = { promptTokens: 0, completionTokens: 0, model: analyst.model };
      const certified = await certifiedBefore(deps, prepared, input);
      if (certified !== null) return { ...certified, ...unasked };
      const material = await readMaterial(input, prepared, signal);
      const messages = synthesisMessages(material);
      const { tools, rate } = material;
      const declining = await declineKeyOf(deps.store, prepared, input, { tools, messages, model: analyst.model });
      const declined = await declinedBefore(deps.store, input, declining, rate);
      if (declined !== null) return { ...declined, ...unasked };
      await using calls = await RecordedCalls.open(
        deps.store,
        context.runId,
        `analyst-synthesise-${capability.id}-${attempt}`,
        { analyst, attempts, signal, setNote: (note) => progress.setNote(note), repetition },
      );
      progress.setNote(undefined);
      const key = contentKey(
        'synthesise',
        SYNTHESIS_PROMPT_VERSION,
        analyst.model,
        String(attempt),
        JSON.stringify(messages),
        ...(declines === 0 ? [] : [String(declines)]),
      );
      const { value, record } = await calls.ask({
        kind: 'synthesise',
        key,
        messages,
        schema: synthesisAnswerSchema,
      });
      const { promptTokens, completionTokens, model } = record;
      const used = { promptTokens, completionTokens, model };
      if (value.source === null) {
        const reason = value.decline?.reason ?? '';
        // A later attempt also depends on those before it, which another run does not make.
        if (attempt === 1) await keepReusable(deps.store, context.agent, declining, { runId: context.runId, reason });
        progress.advance();
        return { source: null, declined: declineInWords(reason, rate), ...used };
      }
      const source = await deps.store.put(
        layout.environments(context.runId, capability.id),
        `attempt-${attempt}.py`,
        value.source,
      );
      progress.advance();
      return { source, ...used };
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

const MAX_DECLINE = 600;

/** The analyst's reason, and what today's labels say against it. */
function declineInWords(reason: string, rate: TargetRate): string {
  const against = againstDecline(rate);
  return (
    startOf(`The analyst declined to write an environment: ${reason.trim().replace(/\s+/g, ' ')}`, MAX_DECLINE) +
    (against === '' ? '' : ` ${against}`)
  );
}

/** That the analyst of an earlier run declined with the same inputs. Null if it did not. */
async function declinedBefore(
  store: ArtifactStore,
  { context, attempt, declines = 0 }: SynthesisInput,
  key: ReuseKey,
  rate: TargetRate,
): Promise<{ source: null; declined: string; reusedFrom: string } | null> {
  if (attempt > 1 || declines > 0) return null;
  return takeReusable(store, context.agent, key, reusableDeclineSchema, async ({ runId, reason }) =>
    runId === context.runId ? null : { source: null, declined: declineInWords(reason, rate), reusedFrom: runId },
  );
}

async function declineKeyOf(
  store: ArtifactStore,
  prepared: PreparedSpec,
  input: SynthesisInput,
  asked: { tools: readonly EnvironmentTool[]; messages: readonly object[]; model: string },
): Promise<ReuseKey> {
  const inputs = await environmentInputs(store, input, asked.tools);
  return declineKey(inputs, prepared, {
    model: asked.model,
    prompt: SYNTHESIS_PROMPT_VERSION,
    messagesSha256: contentKey(JSON.stringify(asked.messages)),
  });
}
