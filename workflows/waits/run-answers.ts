import { ApplicationFailure, getExternalWorkflowHandle, setHandler } from '@temporalio/workflow';
import type { AnswerInput, AnswerResult, OperatorAnswer } from '../../contracts/messages/run';
import { childWorkflowId } from '../../contracts/names';
import { orchestration } from '../shared/activities';
import { answerUpdate, editSignal, retrySignal, skipSignal } from '../shared/messages';
import { nameInSummary } from '../shared/single-line';
import type { Answer } from './operator-gate';
import { type Run, takePlan } from './run';

/**
 * Handles the answers of `whet retry`, `whet skip` and `whet env edit`, and passes them on to the child that waits.
 */
export function takeRunAnswers(run: Run): void {
  setHandler(answerUpdate, (input) => answerWaits(run, input), {
    validator: (input: AnswerInput) => requireWait(run, input),
  });
  // The clients are `whet budget`, `whet repair` and `whet env edit`; nobody waits for the answer to a signal.
  setHandler(retrySignal, (answer) => retryBySignal(run, answer));
  setHandler(editSignal, (edited) => childOf(run, edited.capabilityId).signal(editSignal, edited).catch(ignore));
}

/** The keys that wait for `retry` or `skip`: an approval has a command of its own. */
const answerable = ({ table }: Run): string[] =>
  table.waiting.filter(({ who }) => who !== 'approval').map(({ key }) => key);

function requireWait(run: Run, { answer, key }: AnswerInput): void {
  const { runId } = run.input;
  const waiting = answerable(run);
  if (key === undefined && waiting.length === 0) {
    const approval = run.table.waiting.length > 0 ? ` It waits for approval: \`whet approve ${runId}\`.` : '';
    throw refused(
      'Run.NotWaiting',
      `${runId} does not wait for a person, so there is nothing to ${answer}.${approval} ` +
        `\`whet why ${runId}\` says what it does.`,
    );
  }
  if (key === undefined || (answer === 'skip' && run.skippable.has(key))) return;
  if (!waiting.includes(key)) {
    const others = waiting.length === 0 ? 'Nothing waits' : `These wait: ${waiting.join(', ')}`;
    throw refused('Answer.NotWaiting', `Nothing in ${runId} waits under the name ${key}. ${others}.`);
  }
  // Without a promotion the run still writes its report.
  if (answer === 'skip' && key === stageThatWaits(run) && key !== 'promote') {
    throw refused(
      'Answer.NotSkippable',
      `${key} cannot be left out of ${runId}: the stages after it need its result. ` +
        `Correct the cause, then: whet retry ${runId}`,
    );
  }
}

async function answerWaits(run: Run, { answer, key, specPath }: AnswerInput): Promise<AnswerResult> {
  const changed = specPath === undefined ? [] : await amendSpec(run, specPath);
  const answered: string[] = [];
  for (const waiting of key === undefined ? answerable(run) : [key])
    if (await answerOne(run, answer, waiting)) answered.push(waiting);
  return { answered, changed };
}

/** Applies the changes of agent.yaml that a run may take over. Returns the paths of the fields that changed. */
async function amendSpec(run: Run, specPath: string): Promise<string[]> {
  if (run.plan === null) {
    // Nothing is frozen yet: `prepareRun` reads the whole file.
    run.input = { ...run.input, specPath };
    return [];
  }
  const { context } = run.plan;
  const { spec, changed, deadlines } = await orchestration.amendSpec.executeWithOptions(
    { summary: `amend spec: ${nameInSummary(specPath)}` },
    [{ context, specPath }],
  );
  run.plan.context = { ...context, spec };
  const holdMs = run.input.scheduled === true ? deadlines.holdMs : null;
  run.plan.deadlines = { ...deadlines, holdMs };
  takePlan(run, run.plan);
  return changed;
}

/** Answers what waits under this key, in the run or in a child. False when nothing does. */
export async function answerOne(run: Run, answer: Answer, key: string): Promise<boolean> {
  if (run.gates.answer(key, answer)) return true;
  const leaveOut = run.skippable.get(key);
  if (answer === 'skip' && leaveOut !== undefined) {
    leaveOut();
    return true;
  }
  if (!answerable(run).includes(key)) return false;
  // The wait is cleared now, not when the child says so, because a second answer to it would do nothing.
  run.table.update({ key, text: '', waitingFor: null });
  const given: OperatorAnswer = {
    ...(key !== stageThatWaits(run) && { capabilityId: key }),
    ...(run.plan !== null && { spec: run.plan.context.spec }),
  };
  return childOf(run, given.capabilityId)
    .signal(answer === 'retry' ? retrySignal : skipSignal, given)
    .then(
      () => true,
      // The child has ended; from now on the run itself shows the failure.
      () => false,
    );
}

async function retryBySignal(run: Run, given: OperatorAnswer): Promise<void> {
  const { gates } = run;
  const keys = given.capabilityId === undefined ? gates.waiting : [given.capabilityId];
  // `filter` makes sure that every key is answered.
  if (keys.filter((key) => gates.answer(key, 'retry')).length > 0) return;
  await childOf(run, given.capabilityId).signal(retrySignal, given).catch(ignore);
}

const childOf = ({ input, identification }: Run, capabilityId?: string) =>
  getExternalWorkflowHandle(
    capabilityId === undefined ? identification : childWorkflowId.sharpen(input.runId, capabilityId),
  );

/** The key under which a whole stage would wait now. A capability may have the name of another stage. */
const stageThatWaits = ({ table }: Run) => (table.current === 'sharpen' ? null : table.current);
const refused = (type: string, message: string) => ApplicationFailure.nonRetryable(message, type);
/** A child that has ended needs no answer. */
const ignore = () => undefined;
