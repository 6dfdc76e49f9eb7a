import { workflowInfo } from '@temporalio/workflow';
import type { AttemptRefs, SharpenInput, SharpenResult, TokenUse } from '../contracts/run';
import { jobs, llm, sandbox } from './activities';
import { Hold, noteToRun } from './hold';

/** Synthesise, validate, calibrate, train: one capability (paper, sections 3 and 4). */
export async function sharpenCapability(input: SharpenInput): Promise<SharpenResult> {
  const { context, capability } = input;
  const runId = workflowInfo().parent?.workflowId ?? context.runId;
  const note = (text: string, waitingFor: string | null = null) => noteToRun(runId, { key: capability.id, text, waitingFor });
  const hold = new Hold((reason) =>
    note('', reason === null ? null : `${reason} Then: whet retry ${context.runId} ${capability.id}, or whet skip ${context.runId} ${capability.id}`),
  );
  const attempts: AttemptRefs[] = [];
  const tokens: TokenUse[] = [];
  const result = (status: SharpenResult['status'], reason: string): SharpenResult => ({
    capability,
    status,
    reason,
    attempts,
    environment: null,
    adapter: null,
    tokens,
  });

  for (let round = 0; ; round++) {
    const environment = await hold.through(() => findEnvironment(input, attempts, tokens, (round + 1) * input.maxAttempts, note));
    if (environment === null) return result('skipped', 'skipped by a person');
    if (environment.accepted) {
      await note('training');
      const adapter = await hold.through(() =>
        jobs.trainAdapter.executeWithOptions({ summary: `GRPO adapter: ${capability.name}` }, [
          { context, job: capability.id, environments: [{ id: capability.id, source: environment.source }], budgetFactor: 1 },
        ]),
      );
      if (adapter === null) return { ...result('skipped', 'training skipped by a person'), environment: environment.source };
      await note(`trained, reward ${adapter.finalReward.toFixed(2)}`);
      return { ...result('trained', `reward ${adapter.finalReward.toFixed(2)} after ${adapter.rollouts} rollouts`), environment: environment.source, adapter };
    }
    const reason = `No environment for "${capability.name}" passed in ${attempts.length} attempts; the last: ${environment.outcome}.`;
    if (input.onRejected === 'skip') return result('skipped', reason);
    if ((await hold.ask(reason)) === 'skip') return result('skipped', reason);
  }
}

/** Attempts until one is accepted or there were `limit`; each failed attempt's numbers are feedback to the next. Returns the last. */
async function findEnvironment(
  input: SharpenInput,
  attempts: AttemptRefs[],
  tokens: TokenUse[],
  limit: number,
  note: (text: string) => Promise<void>,
): Promise<AttemptRefs> {
  const { context, capability, identification, trajectories, labels } = input;
  for (;;) {
    const previous = attempts.at(-1) ?? null;
    if (previous !== null && (previous.accepted || attempts.length >= limit)) return previous;
    const attempt = attempts.length + 1;
    await note(`environment, attempt ${attempt}${previous === null ? '' : ` (before: ${previous.outcome})`}`);
    const name = `${capability.name}, attempt ${attempt}`;
    const written = await llm.synthesiseEnvironment.executeWithOptions({ summary: `environment: ${name}` }, [
      { context, capability, identification, trajectories, labels, attempt, previous },
    ]);
    tokens.push({ stage: 'sharpen', model: written.model, promptTokens: written.promptTokens, completionTokens: written.completionTokens });
    const environment = { context, capability, source: written.source };
    const validation = await sandbox.validateEnvironment.executeWithOptions({ summary: `validate: ${name}` }, [environment]);
    const refs: AttemptRefs = { attempt, source: written.source, validation: validation.detail, calibration: null, accepted: false, outcome: '' };
    if (validation.passed) {
      const calibration = await sandbox.calibrateEnvironment.executeWithOptions({ summary: `calibrate: ${name}` }, [environment]);
      tokens.push({ stage: 'sharpen', model: 'base', promptTokens: calibration.promptTokens, completionTokens: calibration.completionTokens });
      attempts.push({ ...refs, calibration: calibration.detail, accepted: calibration.inBand, outcome: calibration.outcome });
    } else {
      attempts.push({ ...refs, outcome: `invalid: ${validation.problems.join(' ')}`.slice(0, 300) });
    }
  }
}
