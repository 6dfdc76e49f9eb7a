import { ApplicationFailure, getExternalWorkflowHandle, setHandler } from '@temporalio/workflow';
import type { AnswerInput, AnswerResult, OperatorAnswer } from '../../contracts/messages/run';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { childWorkflowId } from '../../contracts/names';
import { answerUpdate, editSignal, retrySignal, skipSignal } from '../shared/messages';
import type { Answer } from './operator-gate';
import type { RunGates } from './run-gates';
import type { RunProgressTable } from './run-progress-table';

/** The parts of a run that answers need. */
export interface AnsweredRun {
  runId: string;
  table: RunProgressTable;
  gates: RunGates;
  /** Parts that may be skipped although they do not wait, each with what leaves it out. */
  skippable: Map<string, () => void>;
  /** Takes over the fields of an agent.yaml that may change. Returns the paths of the fields that changed. */
  amendSpec: (specPath: string) => Promise<string[]>;
  /** Id of the identification that runs, or ran last. */
  identification: () => string;
  /** The frozen spec, when it has changed since the children were started. */
  amendedSpec: () => ArtifactRef | null;
}

/**
 * Handles the answers of `whet retry`, `whet skip` and `whet env edit`, and passes them on to the child that waits.
 * `skip` leaves out what waits, as `whet skip` does.
 */
export function takeRunAnswers(run: AnsweredRun): { skip: (key: string) => Promise<void> } {
  setHandler(answerUpdate, (input) => answerWaits(run, input), {
    validator: (input: AnswerInput) => requireWait(run, input),
  });
  // Of `whet budget`, `whet repair` and `whet env edit`: nobody waits for the answer to a signal.
  setHandler(retrySignal, (answer) => retryBySignal(run, answer));
  setHandler(editSignal, (edited) => childOf(run, edited.capabilityId).signal(editSignal, edited).catch(ignore));
  return { skip: async (key) => void (await answerOne(run, 'skip', key)) };
}

/** The keys that wait for `retry` or `skip`: an approval has a command of its own. */
const answerable = ({ table }: AnsweredRun): string[] =>
  table.waiting.filter(({ who }) => who !== 'approval').map(({ key }) => key);

function requireWait(run: AnsweredRun, { answer, key }: AnswerInput): void {
  const waiting = answerable(run);
  if (key === undefined && waiting.length === 0) {
    const approval = run.table.waiting.length > 0 ? ` It waits for approval: \`whet approve ${run.runId}\`.` : '';
    throw refused(
      'Run.NotWaiting',
      `${run.runId} does not wait for a person, so there is nothing to ${answer}.${approval} ` +
        `\`whet why ${run.runId}\` says what it does.`,
    );
  }
  if (key === undefined || (answer === 'skip' && run.skippable.has(key))) return;
  if (!waiting.includes(key)) {
    const others = waiting.length === 0 ? 'Nothing waits' : `These wait: ${waiting.join(', ')}`;
    throw refused('Answer.NotWaiting', `Nothing in ${run.runId} waits under the name ${key}. ${others}.`);
  }
  // Without a promotion the run still has its report.
  if (answer === 'skip' && key === stageThatWaits(run) && key !== 'promote') {
    throw refused(
      'Answer.NotSkippable',
      `${key} cannot be left out of ${run.runId}: the stages after it need its result. ` +
        `Correct the cause, then: whet retry ${run.runId}`,
    );
  }
}

async function answerWaits(run: AnsweredRun, { answer, key, specPath }: AnswerInput): Promise<AnswerResult> {
  const changed = specPath === undefined ? [] : await run.amendSpec(specPath);
  const answered: string[] = [];
  for (const waiting of key === undefined ? answerable(run) : [key])
    if (await answerOne(run, answer, waiting)) answered.push(waiting);
  return { answered, changed };
}

async function answerOne(run: AnsweredRun, answer: Answer, key: string): Promise<boolean> {
  if (run.gates.answer(key, answer)) return true;
  const leaveOut = run.skippable.get(key);
  if (answer === 'skip' && leaveOut !== undefined) {
    leaveOut();
    return true;
  }
  if (!answerable(run).includes(key)) return false;
  // Cleared now, not when the child says so: a second answer to the same wait would do nothing.
  run.table.update({ key, text: '', waitingFor: null });
  const spec = run.amendedSpec();
  const given: OperatorAnswer = {
    ...(key !== stageThatWaits(run) && { capabilityId: key }),
    ...(spec !== null && { spec }),
  };
  return childOf(run, given.capabilityId)
    .signal(answer === 'retry' ? retrySignal : skipSignal, given)
    .then(
      () => true,
      // The child has ended: from here on the run itself shows the fault.
      () => false,
    );
}

async function retryBySignal(run: AnsweredRun, given: OperatorAnswer): Promise<void> {
  const { gates } = run;
  const keys = given.capabilityId === undefined ? gates.waiting : [given.capabilityId];
  // `filter` answers every one of them.
  if (keys.filter((key) => gates.answer(key, 'retry')).length > 0) return;
  await childOf(run, given.capabilityId).signal(retrySignal, given).catch(ignore);
}

const childOf = ({ runId, identification }: AnsweredRun, capabilityId?: string) =>
  getExternalWorkflowHandle(
    capabilityId === undefined ? identification() : childWorkflowId.sharpen(runId, capabilityId),
  );

/** The key under which a whole stage would wait now. A capability may have the name of another stage. */
const stageThatWaits = ({ table }: AnsweredRun) => (table.current === 'sharpen' ? null : table.current);
const refused = (type: string, message: string) => ApplicationFailure.nonRetryable(message, type);
/** A child that has ended needs no answer. */
const ignore = () => undefined;
