import { setHandler, workflowInfo } from '@temporalio/workflow';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { TokenUse } from '../contracts/messages/run-context';
import type { AttemptRefs, SharpenInput, SharpenResult, SynthesisInput } from '../contracts/messages/sharpen-stage';
import { editCommand } from '../contracts/names';
import { jobs, llm, sandbox } from './activities';
import { OperatorGate, reportStatus } from './operator-gate';
import { editSignal } from './messages';

/** An environment that a person wrote, until an attempt with it has ended. */
class Edited {
  source: ArtifactRef | null = null;
  /** Whether an attempt with it was begun; after a failure that a person can cure it is the next one again. */
  tried = false;

  give(source: ArtifactRef): void {
    this.source = source;
    this.tried = false;
  }

  get waits(): boolean {
    return this.source !== null && !this.tried;
  }
}

/** Synthesise, validate, calibrate, train: one capability (paper, sections 3 and 4). */
export async function sharpenCapability(input: SharpenInput): Promise<SharpenResult> {
  const { context, capability } = input;
  const runId = workflowInfo().parent?.workflowId ?? context.runId;
  const note = (text: string, waitingFor: string | null = null) =>
    reportStatus(runId, { key: capability.id, text, waitingFor });
  // An environment edited by hand is the next attempt, and the only one of its round.
  const edited = new Edited();
  const where = `${context.runId} ${capability.id}`;
  const gate = new OperatorGate(
    (reason) =>
      note(
        '',
        reason === null
          ? null
          : `${reason} Then: whet retry ${where}, ${editCommand(context.runId, capability.id)}, or whet skip ${where}`,
      ),
    () => edited.waits,
  );
  setHandler(editSignal, ({ source }) => {
    edited.give(source);
    gate.answerWith('retry');
  });
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

  const company = input.sideBySide === undefined ? {} : { sideBySide: input.sideBySide };
  let limit = input.maxAttempts;
  for (;;) {
    const environment = await gate.runUnlessSkipped(() =>
      findEnvironment(input, attempts, tokens, limit, edited, note),
    );
    if (environment === null) return result('skipped', 'skipped by a person');
    if (environment.accepted) {
      await note('training');
      const adapter = await gate.runUnlessSkipped(async () =>
        edited.waits
          ? 'edited'
          : jobs.trainAdapter.executeWithOptions({ summary: `GRPO adapter: ${capability.name}` }, [
              {
                context,
                job: capability.id,
                environments: [{ id: capability.id, source: environment.source }],
                budgetFactor: 1,
                ...company,
              },
            ]),
      );
      if (adapter === 'edited') {
        limit = attempts.length + 1;
        continue;
      }
      if (adapter === null)
        return { ...result('skipped', 'training skipped by a person'), environment: environment.source };
      await note(`trained, reward ${adapter.finalReward.toFixed(2)}`);
      return {
        ...result('trained', `reward ${adapter.finalReward.toFixed(2)} after ${adapter.rollouts} rollouts`),
        environment: environment.source,
        adapter,
      };
    }
    const reason = `No environment for "${capability.name}" passed in ${attempts.length} attempts; the last: ${environment.outcome}.`;
    if (input.onRejected === 'skip' && !edited.waits) return result('skipped', reason);
    if ((await gate.waitForAnswer(reason)) === 'skip') return result('skipped', reason);
    limit = attempts.length + (edited.source === null ? input.maxAttempts : 1);
  }
}

/**
 * Attempts until one is accepted or there were `limit`; each failed attempt's numbers are feedback to the next. Returns
 * the last.
 */
async function findEnvironment(
  input: SharpenInput,
  attempts: AttemptRefs[],
  tokens: TokenUse[],
  limit: number,
  edited: Edited,
  note: (text: string) => Promise<void>,
): Promise<AttemptRefs> {
  const { context, capability, identification, trajectories, labels } = input;
  for (;;) {
    const previous = attempts.at(-1) ?? null;
    if (previous !== null && ((previous.accepted && !edited.waits) || attempts.length >= limit)) return previous;
    const attempt = attempts.length + 1;
    await note(`environment, attempt ${attempt}${previous === null ? '' : ` (before: ${previous.outcome})`}`);
    const name = `${capability.name}, attempt ${attempt}`;
    edited.tried = edited.source !== null;
    const outOfBand = attempts.filter((a) => a.outOfBand).length;
    const source =
      edited.source ??
      (await write(
        { context, capability, identification, trajectories, labels, attempt, previous, outOfBand },
        name,
        tokens,
      ));
    const environment = { context, capability, source };
    const validation = await sandbox.validateEnvironment.executeWithOptions({ summary: `validate: ${name}` }, [
      environment,
    ]);
    const { detail, certificate } = validation;
    const refs: AttemptRefs = {
      attempt,
      source,
      validation: detail,
      calibration: null,
      certificate,
      accepted: false,
      outOfBand: false,
      outcome: '',
    };
    if (validation.passed) {
      const calibration = await sandbox.calibrateEnvironment.executeWithOptions({ summary: `calibrate: ${name}` }, [
        { ...environment, validation: detail, trajectories, labels },
      ]);
      tokens.push({
        stage: 'sharpen',
        model: 'base',
        promptTokens: calibration.promptTokens,
        completionTokens: calibration.completionTokens,
      });
      attempts.push({
        ...refs,
        calibration: calibration.detail,
        certificate: calibration.certificate,
        accepted: calibration.inBand,
        outOfBand: !calibration.inBand && !calibration.faulty,
        outcome: calibration.outcome,
      });
    } else {
      attempts.push({ ...refs, outcome: `invalid: ${validation.problems.join(' ')}`.slice(0, 300) });
    }
    if (edited.source === source) edited.source = null;
  }
}

/** Asks the analyst for an environment. */
async function write(input: SynthesisInput, name: string, tokens: TokenUse[]): Promise<ArtifactRef> {
  const { source, model, promptTokens, completionTokens } = await llm.synthesiseEnvironment.executeWithOptions(
    { summary: `environment: ${name}` },
    [input],
  );
  tokens.push({ stage: 'sharpen', model, promptTokens, completionTokens });
  return source;
}
