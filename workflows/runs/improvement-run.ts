import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  executeChild,
  isCancellation,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { childWorkflowId, ENDED_AFTER_IDENTIFY, type RunOutcome, WORKFLOWS } from '../../contracts/names';
import type { IdentifyResult } from '../../contracts/messages/identify-stage';
import type { ImprovementRunInput, ImprovementRunResult, ReportInput, RunPlan } from '../../contracts/messages/run';
import type { NightDecisionResult } from '../../contracts/messages/night-stage';
import type { SharpenResult } from '../../contracts/messages/sharpen-stage';
import { failedCount, failedTasksText, failedText } from '../../contracts/failed-episodes';
import type { RolloutSummary } from '../../contracts/artifacts/trajectory';
import { orchestration, preparation, sandbox } from '../shared/activities';
import { settleAll } from '../shared/settle-all';
import { concludeRun, endWaitsInTime, takeTurn } from '../waits/early-end';
import { evaluateArms } from '../stages/evaluate-arms';
import type { EvaluationOutcome } from '../stages/evaluation-stage';
import type { identifyCapabilities } from '../stages/identify-capabilities';
import { messageOf } from '../shared/failure-causes';
import { keepMembers, type MeasuredNight, measureNight, nightFacts, planNight } from '../stages/measure-night';
import { approveUpdate, failingSignal, progressQuery, statusSignal } from '../shared/messages';
import { nameInSummary, singleLine } from '../shared/single-line';
import { promote, requireApprovalAsked } from '../stages/promotion';
import { type Run, takePlan } from '../waits/run';
import { takeRunAnswers } from '../waits/run-answers';
import { RunGates } from '../waits/run-gates';
import { RunNotices } from '../waits/run-notices';
import { RunProgressTable } from '../waits/run-progress-table';
import type { sharpenCapability } from '../stages/sharpen-capability';
import { startTrial } from '../stages/trainer-trial';

/** Longest reason of a failed run in its record, in characters. */
const MAX_REASON = 1_500;

/**
 * One improvement run of one agent, in the order of the paper: collect, identify, sharpen, evaluate, promote, report. A
 * failure in any stage makes it wait for a person. It throws if it is cancelled. It also throws if nothing was paid yet
 * and nobody can correct the cause.
 */
export async function improvementRun(given: ImprovementRunInput): Promise<ImprovementRunResult> {
  const run = openRun(given);
  const { early } = run;
  const stopWatch = endWaitsInTime(run);
  try {
    const result = await run.stages.run(() => runUnlessSkipped(run));
    const { verdict, reasons, promotedVersion, reportDirectory } = result;
    await concludeRun(run, verdict, reasons, { promotedVersion, reported: reportDirectory !== null });
    return result;
  } catch (error) {
    const cancelled = CancellationScope.current().consideredCancelled;
    const reason = early.reason ?? (cancelled ? run.table.cancelledText : singleLine(messageOf(error), MAX_REASON));
    await concludeRun(run, cancelled ? 'cancelled' : early.reason !== null ? 'expired' : 'failed', [reason]);
    if (cancelled) throw isCancellation(error) ? error : new CancelledFailure('The run was cancelled.');
    throw early.reason === null ? error : ApplicationFailure.nonRetryable(early.reason, 'Run.Expired');
  } finally {
    stopWatch();
  }
}

/** From this call on, the run handles queries, signals and updates. */
function openRun(given: ImprovementRunInput): Run {
  // All runs of a schedule have the same input; the workflow's id distinguishes them.
  const input = given.runId === '' ? { ...given, runId: workflowInfo().workflowId, scheduled: true } : given;
  const notices = new RunNotices(input.runId, input.agent);
  const table = new RunProgressTable(input.runId, input.agent, notices);
  const gates = new RunGates(input.runId, table);
  const run: Run = {
    input,
    table,
    gates,
    notices,
    skippable: new Map(),
    stages: new CancellationScope(),
    early: { reason: null, approval: null, leftOut: new Map(), beside: null },
    approved: false,
    plan: null,
    identification: childWorkflowId.identify(input.runId),
  };
  setHandler(progressQuery, () => table.progress());
  setHandler(statusSignal, (status) => table.update(status));
  setHandler(failingSignal, (status) => table.updateFailing(status));
  setHandler(approveUpdate, () => void (run.approved = true), { validator: () => requireApprovalAsked(run) });
  takeRunAnswers(run);
  return run;
}

async function runUnlessSkipped(run: Run): Promise<ImprovementRunResult> {
  return (run.input.scheduled === true ? await takeTurn(run) : null) ?? runStages(run);
}

async function runStages(run: Run): Promise<ImprovementRunResult> {
  const { table, gates } = run;
  const prepare = () =>
    preparation.prepareRun.executeWithOptions({ summary: 'check agent.yaml, model, analyst and jail' }, [run.input]);
  const plan = await gates.perform('prepare', prepare, { mayEnd: true });
  takePlan(run, plan);
  if (run.input.until === 'identify') return diagnose(run, plan);
  const night = await gates.perform('prepare', () => planNight(run, plan));
  const measured = night.measure ? await measureNight(run, plan, night.plan, night.measure) : null;
  if (measured !== null && measured.decision.outcome !== 'goes-on') return endNight(run, plan, measured);
  const retires = measured?.decision.retires;
  const trial = startTrial(plan, run);
  const collected = await table
    .run('collect', () => gates.perform('collect', () => collect(plan), { mayEnd: true }), describeCollected)
    .catch(async (error: unknown) => {
      await trial.abandon();
      throw error;
    });
  const identified = await table.run(
    'identify',
    async () => {
      // Identification is the first stage that pays the analyst.
      await trial.passed();
      return gates.perform('identify', () => identify(plan, collected));
    },
    describeIdentified,
  );
  const sharpened = await table.run(
    'sharpen',
    async () => {
      const worked = await sharpenAll(run, plan, collected, identified, measured?.decision);
      // Without a new or a retired adapter, the candidate would be the same as the served version.
      const isSame = retires === undefined && worked.every(({ adapter }) => adapter === null);
      if (!night.measure || isSame) return worked;
      return [...worked, ...(await keepMembers(run, plan, night.measure.version, worked, retires))];
    },
    describeSharpened,
  );
  const evaluation = await evaluate(run, plan, collected, identified, { sharpened, retires });
  const { evaluated, promotedVersion } = await promote(run, plan, sharpened, evaluation);
  const verdict = outcomeOf(run, sharpened, evaluated, promotedVersion);
  return reportRun(run, plan, evaluated, evaluated?.comparison.gateReasons ?? whyNotEvaluated(sharpened, identified), {
    verdict,
    collected,
    identified,
    sharpened,
    promotedVersion,
    ...(measured !== null && { night: nightFacts(measured) }),
    ...(night.remaking !== undefined && { plan: night.plan }),
  });
}

/**
 * A run that ends after identification. It examines the base agent, whatever is served, and is no night. Nothing that
 * only a training needs is waited for.
 */
async function diagnose(run: Run, plan: RunPlan): Promise<ImprovementRunResult> {
  const { table, gates } = run;
  const collected = await table.run(
    'collect',
    () => gates.perform('collect', () => collect(plan), { mayEnd: true }),
    describeCollected,
  );
  const identified = await table.run(
    'identify',
    () => gates.perform('identify', () => identify(plan, collected)),
    describeIdentified,
  );
  for (const stage of ['sharpen', 'evaluate', 'promote'] as const) table.skip(stage, 'the run was to end before it');
  const found =
    identified.kept.length === 0
      ? whyNotEvaluated([], identified)
      : [`Identification ${describeIdentified(identified)}.`];
  return reportRun(run, plan, null, [...found, ENDED_AFTER_IDENTIFY], {
    verdict: 'diagnosed',
    collected,
    identified,
    sharpened: [],
    promotedVersion: null,
  });
}

/** Ends a run that found no work worth paying for. Its report has the measurement. */
function endNight(run: Run, plan: RunPlan, measured: MeasuredNight): Promise<ImprovementRunResult> {
  const { learned, identified, decision } = measured;
  for (const stage of ['sharpen', 'evaluate', 'promote'] as const) run.table.skip(stage, decision.outcome);
  return reportRun(run, plan, null, [decision.sentence], {
    verdict: decision.outcome === 'too-little-power' ? 'too-little-power' : 'nothing-new',
    collected: learned,
    identified,
    sharpened: [],
    promotedVersion: null,
    night: nightFacts(measured),
  });
}

/** The last stage of a run. `why` has the reasons for the verdict. Returns the result of the run. */
async function reportRun(
  { table, gates, early, input }: Run,
  plan: RunPlan,
  evaluated: EvaluationOutcome | null,
  why: string[],
  facts: Pick<ReportInput, 'verdict' | 'collected' | 'identified' | 'sharpened' | 'promotedVersion' | 'night' | 'plan'>,
): Promise<ImprovementRunResult> {
  const { verdict, promotedVersion } = facts;
  const { approval, leftOut, beside } = early;
  const unanswered = [...(approval === null ? [] : [approval]), ...leftOut.values()];
  const reportInput = (): ReportInput => ({
    context: plan.context,
    ...facts,
    mixed: evaluated?.mixed ?? null,
    arms: evaluated?.arms ?? [],
    comparison: evaluated?.comparison ?? null,
    routing: evaluated?.routing ?? null,
    ...(evaluated && { router: evaluated.router }),
    ...(unanswered.length > 0 && { unanswered }),
    ...(beside !== null && { beside }),
    stages: table.timings(),
  });
  const write = () => orchestration.renderReport.executeWithOptions({ summary: `report: ${verdict}` }, [reportInput()]);
  const { directory } = await table.run(
    'report',
    () => gates.perform('report', write),
    (report) => report.directory,
  );
  return {
    runId: input.runId,
    verdict,
    reasons: [...why, ...unanswered, ...(beside === null ? [] : [beside])],
    summary: evaluated?.comparison.summary ?? '',
    promotedVersion,
    reportDirectory: directory,
  };
}

function outcomeOf(
  { early }: Run,
  sharpened: readonly SharpenResult[],
  evaluated: EvaluationOutcome | null,
  promotedVersion: number | null,
): RunOutcome {
  if (evaluated === null) return sharpened.length === 0 ? 'nothing-to-sharpen' : 'nothing-trained';
  if (promotedVersion !== null) return 'promoted';
  return early.approval !== null || early.leftOut.has('promote') ? 'expired' : 'not-promoted';
}

/**
 * Gives each agent's tasks an equal share of the workers, so that one large run cannot starve the run of another agent.
 * The children of a child inherit it.
 */
const fairness = ({ agent }: RunPlan['context']) => ({ fairnessKey: agent });

function collect({ context, plays }: RunPlan): Promise<RolloutSummary> {
  const summary = plays === false ? 'conversations of the agent' : 'base agent on the train tasks';
  return sandbox.collectTrajectories.executeWithOptions({ summary }, [context]);
}

function identify({ context }: RunPlan, collected: RolloutSummary): Promise<IdentifyResult> {
  return executeChild<typeof identifyCapabilities>(WORKFLOWS.identifyCapabilities, {
    workflowId: childWorkflowId.identify(context.runId),
    priority: fairness(context),
    staticSummary: `identify: contrast ${collected.failures} failures with ${collected.successes} successes`,
    args: [{ context, collected }],
  });
}

function sharpenAll(
  { table, gates, early }: Run,
  plan: RunPlan,
  collected: RolloutSummary,
  identified: IdentifyResult,
  { continues = [], retires = [], retiredBefore = [] }: Partial<NightDecisionResult> = {},
): Promise<SharpenResult[]> {
  const { maxAttempts, onRejected } = plan;
  const { identification, labels, kept } = identified;
  const sharpen = (capability: IdentifyResult['kept'][number]) => {
    const served = continues.find(({ capabilityId }) => capabilityId === capability.id);
    return executeChild<typeof sharpenCapability>(WORKFLOWS.sharpenCapability, {
      workflowId: childWorkflowId.sharpen(plan.context.runId, capability.id),
      priority: fairness(plan.context),
      staticSummary: `sharpen: ${nameInSummary(capability.name)}`,
      args: [
        {
          context: plan.context,
          capability,
          identification,
          labels,
          trajectories: collected.trajectories,
          maxAttempts,
          onRejected,
          sideBySide: kept.length,
          ...(served !== undefined && { continues: served.sha256 }),
        },
      ],
    });
  };
  const showText = (key: string, text: string) => table.update({ key, text, waitingFor: null });
  // Each waits separately: a failed capability must not end the training of the others.
  return settleAll(
    kept.map(async (capability) => {
      const gone = [...retires, ...retiredBefore].includes(capability.id);
      // The same inputs would give the same adapter.
      if (gone) return skipped(capability, 'its adapter is retired');
      if (retires.length > 0)
        return skipped(capability, 'this night tries what is served without an adapter, and nothing else');
      showText(capability.id, 'environment');
      const result = await gates.performUnlessSkipped(capability.id, () => sharpen(capability));
      const leftOut = early.leftOut.get(capability.id);
      const reason = leftOut ?? 'skipped by a person';
      const made = result ?? skipped(capability, reason);
      const sharpened = leftOut !== undefined && made.adapter === null ? { ...made, reason } : made;
      showText(capability.id, `${sharpened.status}, ${sharpened.reason}`);
      return sharpened;
    }),
  );
}

/** Why there is nothing to evaluate: each kept capability with its outcome. */
function whyNotEvaluated(
  sharpened: readonly SharpenResult[],
  { candidates, untrainable = [] }: IdentifyResult,
): string[] {
  if (sharpened.length === 0) {
    const why = candidates === 0 ? 'The analyst named no capability.' : 'No capability was kept.';
    return [why, ...untrainable.map(({ id, reason }) => `${id}: ${reason}`)];
  }
  const each = sharpened.map(({ capability, reason }) => `${capability.id} has no adapter: ${reason}`);
  return sharpened.every(({ declined }) => declined === true) ? [ALL_DECLINED, ...each] : each;
}

const ALL_DECLINED =
  'The analyst declined to write an environment for every capability that was kept, so nothing was trained. If its ' +
  'reasons do not hold, use another analyst, or write an environment by hand.';

/** The result for a capability without an adapter. */
const skipped = (capability: SharpenResult['capability'], reason: string): SharpenResult => ({
  capability,
  status: 'skipped',
  reason,
  attempts: [],
  environment: null,
  adapter: null,
  tokens: [],
});

/** Evaluates the adapters. Null when none was trained. */
async function evaluate(
  { table, gates, skippable }: Run,
  plan: RunPlan,
  { trajectories, failed: causes, episodes, live = 0 }: RolloutSummary,
  identified: IdentifyResult,
  { sharpened, retires }: { sharpened: SharpenResult[]; retires: string[] | undefined },
): Promise<EvaluationOutcome | null> {
  if (sharpened.every(({ adapter }) => adapter === null)) {
    table.skip('evaluate', 'no adapter to evaluate');
    return null;
  }
  return table.run(
    'evaluate',
    () => {
      const show = (text: string) => table.update({ key: 'evaluate', text, waitingFor: null });
      const failed = causes && { failed: failedCount(causes) / (episodes - live) };
      return evaluateArms({ plan, gates, skippable, trajectories, ...failed, show, retires }, identified, sharpened);
    },
    ({ comparison }) => comparison.summary,
  );
}

function describeCollected(collected: RolloutSummary): string {
  const { episodes, live = 0, successes, tooLong = 0, cut = 0, damagedLines = 0 } = collected;
  const { refused = 0, unreadable = 0, withoutOutcome = 0 } = collected;
  if (collected.ingested !== undefined) {
    const others = withoutOutcome > 0 ? `; ${withoutOutcome} more have no outcome` : '';
    const lost = unreadable > 0 ? `; ${unreadable} lines could not be read` : '';
    return `${episodes} conversations, ${successes} successes${others}${lost}`;
  }
  const failed = failedText(collected.failed) + failedTasksText(collected.failedTasks);
  const none = failed === '' ? '' : `; without a result ${failed}`;
  const conversations = live > 0 ? ` and ${live} conversations of live traffic` : '';
  const lost = unreadable > 0 ? `; ${unreadable} lines of live traffic could not be read` : '';
  const again = damagedLines > 0 ? `; ${damagedLines} damaged lines of the work file set aside and played again` : '';
  const long = tooLong > 0 ? `; ${tooLong} failed because their opening is longer than the model's context` : '';
  const ended = refused > 0 ? `; ${refused} ended because the model server refused their conversation` : '';
  const short = cut > 0 ? `; ${cut} have a reply that was cut at model.maxCompletionTokens` : '';
  return `${episodes - live} rollouts${conversations}, ${successes} successes${none}${long}${ended}${short}${lost}${again}`;
}

function describeIdentified({ kept, candidates, untrainable = [] }: IdentifyResult): string {
  if (candidates === 0) return 'the analyst named no capability';
  const names = kept.length === 0 ? '' : `: ${kept.map(({ name }) => name).join(', ')}`;
  const not = untrainable.map(({ id, reason }) => `; ${id}: ${reason}`).join('');
  return `kept ${kept.length} of ${candidates}${names}${not}`;
}

const describeSharpened = (results: SharpenResult[]) =>
  `${results.filter(({ adapter }) => adapter !== null).length} of ${results.length} trained`;
