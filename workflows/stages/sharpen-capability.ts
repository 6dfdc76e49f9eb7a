import { pluralise } from '../../contracts/pluralise';
import { setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { TrainedAdapter } from '../../contracts/artifacts/training';
import type { SharpenInput, SharpenResult } from '../../contracts/messages/sharpen-stage';
import { editCommand, giveCommand } from '../../contracts/names';
import { jobs } from '../shared/activities';
import { EditedEnvironmentSlot } from './edited-environment-slot';
import { EnvironmentSearch } from './environment-search';
import { applicationFailureOf, messageOf } from '../shared/failure-causes';
import { editSignal } from '../shared/messages';
import { cleanMarkdown } from '../../contracts/clean-text';
import { nameInSummary, singleLine } from '../shared/single-line';
import { OperatorGate, reportStatus, takeAnswers } from '../waits/operator-gate';

/** Longest line in the current details, in characters. */
const MAX_LINE = 300;

/** The run shows these lines by itself. Each further signal would add a row to its timeline. */
const SHOWN_BY_RUN = /^environment, attempt 1$|^trained, /;

/**
 * Sharpens one capability: makes an environment that exercises this capability alone, and trains an adapter in it
 * (paper, sections 3 and 4). "To sharpen" is Whetstone's word for these two steps together.
 *
 * A person may replace the environment until its training begins. The replacement gets one attempt.
 */
export async function sharpenCapability(given: SharpenInput): Promise<SharpenResult> {
  const input = { ...given };
  const stage = openStage(input);
  let found = await findEnvironment(stage, input.maxAttempts);
  while (found.environment !== null) {
    const result = await trainUnlessReplaced(stage, found.environment);
    if (result !== null) return result;
    found = await findEnvironment(stage, 1);
  }
  return resultOf(stage, found.reason);
}

/** The shared parts of one capability's steps. */
interface Stage {
  input: SharpenInput;
  gate: OperatorGate;
  edited: EditedEnvironmentSlot;
  search: EnvironmentSearch;
  /** Shows a line in the run's progress table. */
  report: (text: string) => Promise<void>;
}

/** An accepted environment, or the reason for skipping the capability. */
type Found = { environment: ArtifactRef } | { environment: null; reason: string };

/** Handles the signals `retry`, `skip` and `edit` from here on. The context of `input` changes with its spec. */
function openStage(input: SharpenInput): Stage {
  const { context, capability } = input;
  const runId = workflowInfo().parent?.workflowId ?? context.runId;
  const lines: string[] = [];
  const report = async (text: string): Promise<void> => {
    lines.push(singleLine(text, MAX_LINE));
    setCurrentDetails(
      `**${cleanMarkdown(capability.name)}**\n\n${lines.map((l) => `- ${cleanMarkdown(l)}`).join('\n')}`,
    );
    if (!SHOWN_BY_RUN.test(text)) await reportStatus(runId, { key: capability.id, text, waitingFor: null });
  };
  const where = `${context.runId} ${capability.id}`;
  const edited = new EditedEnvironmentSlot();
  // If there is no environment to copy, the command needs a file that a person wrote.
  const commands = (): string =>
    search.hasSource
      ? `Then: whet retry ${where}, ${editCommand(context.runId, capability.id)}, or whet skip ${where}`
      : `Then: whet retry ${where}, whet skip ${where}, or write ${capability.id}.py ` +
        `(docs/guides/environment-by-hand.md) and: ` +
        giveCommand(context.runId, capability.id);
  const gate = new OperatorGate({
    key: capability.id,
    commands,
    show: (status) => reportStatus(runId, status),
    hasNewWork: () => edited.hasUntried,
  });
  const search = new EnvironmentSearch(input, gate, edited, report);
  takeAnswers(gate, input);
  setHandler(editSignal, ({ source }) => {
    edited.put(source);
    gate.answer('retry');
  });
  return { input, gate, edited, search, report };
}

/**
 * Makes rounds of attempts until an environment is accepted. After a round without success a person decides, unless the
 * agent's spec says to skip the capability. `firstRound` is the size of the first round.
 */
async function findEnvironment({ input, gate, edited, search }: Stage, firstRound: number): Promise<Found> {
  let attempt = await search.runRound(firstRound);
  while (attempt !== null && !attempt.accepted) {
    const reason =
      `No environment for "${input.capability.name}" passed in ${pluralise(search.attempts.length, 'attempt')}; ` +
      `the last: ${attempt.outcome.replace(/\.+$/, '')}. All that was found: ${(attempt.calibration ?? attempt.validation).key} in the store.`;
    if (input.onRejected === 'skip' && !edited.hasUntried) return { environment: null, reason };
    if ((await gate.waitForAnswer({ reason, who: 'owner' })) === 'skip') return { environment: null, reason };
    attempt = await search.runRound(edited.hasUntried ? 1 : input.maxAttempts);
  }
  if (attempt === null) return { environment: null, reason: search.refusal ?? 'skipped by a person' };
  return { environment: attempt.source };
}

/** Trains an adapter in an environment. Null when an edited environment arrived before the training began. */
async function trainUnlessReplaced(stage: Stage, environment: ArtifactRef): Promise<SharpenResult | null> {
  const { input, gate, edited, report } = stage;
  await report('training');
  let why = '';
  const training = await gate.runUnlessSkipped(async () => {
    try {
      return { adapter: edited.hasUntried ? null : await train(input, environment) };
    } catch (error) {
      why = singleLine(messageOf(error), MAX_LINE);
      // Its probes refused the environment, as a check does.
      const isRefused = applicationFailureOf(error)?.type === 'Trainer.Harmful';
      if (isRefused && input.onRejected === 'skip' && !edited.hasUntried) return { adapter: 'none' as const };
      throw error;
    }
  });
  const skipped = `training skipped by a person${why === '' ? '' : `: ${why}`}`;
  if (training === null) return resultOf(stage, skipped, { environment });
  const { adapter } = training;
  if (adapter === 'none') return resultOf(stage, why, { environment });
  if (adapter === null) return null;
  const watched = adapter.watched === undefined ? '' : `, ${adapter.watched}`;
  const reward = `reward ${adapter.finalReward.toFixed(2)}${watched}`;
  await report(`trained, ${reward}`);
  const how = adapter.reusedFrom === undefined ? `after ${adapter.rollouts} rollouts` : `from ${adapter.reusedFrom}`;
  return resultOf(stage, `${reward} ${how}`, { status: 'trained', environment, adapter });
}

function train(
  { context, capability, sideBySide, continues, trajectories, labels }: SharpenInput,
  source: ArtifactRef,
): Promise<TrainedAdapter> {
  return jobs.trainAdapter.executeWithOptions({ summary: `train ${nameInSummary(capability.name)}` }, [
    {
      context,
      job: capability.id,
      environments: [{ id: capability.id, source }],
      budgetFactor: 1,
      evidence: { trajectories, labels },
      sideBySide,
      ...(continues !== undefined && { continues }),
    },
  ]);
}

/** The result of a skipped capability without an adapter; `made` may override its fields. */
function resultOf({ input, search }: Stage, reason: string, made: Partial<SharpenResult> = {}): SharpenResult {
  return {
    capability: input.capability,
    status: 'skipped',
    reason,
    attempts: search.attempts,
    environment: null,
    adapter: null,
    tokens: search.tokens,
    ...(search.isDeclined && { declined: true }),
    ...made,
  };
}
