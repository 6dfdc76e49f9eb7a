import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  executeChild,
  isCancellation,
  patched,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { childWorkflowId, type RunOutcome, WORKFLOWS } from '../contracts/names';
import type { PromoteResult } from '../contracts/messages/evaluate-stage';
import type { IdentifyResult } from '../contracts/messages/identify-stage';
import type { ImprovementRunInput, ImprovementRunResult, ReportInput, RunPlan } from '../contracts/messages/run';
import type { SharpenResult } from '../contracts/messages/sharpen-stage';
import type { RolloutSummary } from '../contracts/artifacts/trajectory';
import { orchestration, preparation, sandbox } from './activities';
import { allOf } from './all-of';
import { evaluateArms } from './evaluate-arms';
import type { EvaluationOutcome } from './evaluation-stage';
import type { identifyCapabilities } from './identify-capabilities';
import { approveUpdate, failingSignal, progressQuery, statusSignal } from './messages';
import { takeRunAnswers } from './run-answers';
import { RunGates } from './run-gates';
import { RunProgressTable } from './run-progress-table';
import type { sharpenCapability } from './sharpen-capability';
import { startTrial } from './trainer-trial';

/** What the stages of one run share. */
interface Run {
  input: ImprovementRunInput;
  table: RunProgressTable;
  gates: RunGates;
  /** Parts that may be skipped although they do not wait, each with what leaves it out. */
  skippable: Map<string, () => void>;
  approved: boolean;
  /** Null until `prepareRun` has ended. Its context changes with `whet retry RUN --spec`. */
  plan: RunPlan | null;
  /** Whether its spec has changed since. */
  amended: boolean;
}

/**
 * One improvement run of one agent, in the order of the paper: collect, identify, sharpen, evaluate, promote, report.
 * A failure in any stage makes it wait for a person. It throws when nothing was paid yet and nobody could correct the
 * cause, and when it is cancelled.
 */
export async function improvementRun(given: ImprovementRunInput): Promise<ImprovementRunResult> {
  const run = openRun(given);
  const { table } = run;
  try {
    const result = await runStages(run);
    table.end(result.verdict);
    return result;
  } catch (error) {
    const cancelled = CancellationScope.current().consideredCancelled;
    table.end(cancelled ? 'cancelled' : 'failed');
    throw cancelled && !isCancellation(error) ? new CancelledFailure('The run was cancelled.') : error;
  }
}

/** Handles queries, signals and updates from here on. */
function openRun(given: ImprovementRunInput): Run {
  // A schedule gives each of its runs the same input; the workflow's id tells them apart.
  const input = given.runId === '' ? { ...given, runId: workflowInfo().workflowId } : given;
  const table = new RunProgressTable(input.runId, input.agent);
  const gates = new RunGates(input.runId, table);
  const run: Run = { input, table, gates, skippable: new Map(), approved: false, plan: null, amended: false };
  setHandler(progressQuery, () => table.progress());
  setHandler(statusSignal, (status) => table.update(status));
  setHandler(failingSignal, (status) => table.updateFailing(status));
  setHandler(approveUpdate, () => void (run.approved = true), { validator: () => requireApprovalAsked(run) });
  takeRunAnswers({
    runId: input.runId,
    table,
    gates,
    skippable: run.skippable,
    amendSpec: (specPath) => amendSpec(run, specPath),
    amendedSpec: () => (run.amended && run.plan !== null ? run.plan.context.spec : null),
  });
  return run;
}

async function runStages(run: Run): Promise<ImprovementRunResult> {
  const { table, gates, input } = run;
  const prepare = () =>
    preparation.prepareRun.executeWithOptions({ summary: 'check agent.yaml, model, analyst and jail' }, [run.input]);
  const plan = await gates.perform('prepare', prepare, { mayEnd: true });
  run.plan = plan;
  const trial = patched('trial-job') ? startTrial(plan, run) : null;
  const collected = await table
    .run('collect', () => gates.perform('collect', () => collect(plan), { mayEnd: true }), describeCollected)
    .catch(async (error: unknown) => {
      await trial?.abandon();
      throw error;
    });
  const identified = await table.run(
    'identify',
    async () => {
      // Identification is the first stage that pays the analyst.
      await trial?.passed();
      return gates.perform('identify', () => identify(plan, collected));
    },
    describeIdentified,
  );
  const sharpened = await table.run('sharpen', () => sharpenAll(run, plan, collected, identified), describeSharpened);
  const evaluation = await evaluate(run, plan, collected, identified, sharpened);
  const { evaluated, promotedVersion } = await promote(run, plan, sharpened, evaluation);
  const verdict = outcomeOf(evaluated, promotedVersion);
  const facts = {
    verdict,
    collected,
    identified,
    sharpened,
    mixed: evaluated?.mixed ?? null,
    arms: evaluated?.arms ?? [],
    comparison: evaluated?.comparison ?? null,
    routing: evaluated?.routing ?? null,
    promotedVersion,
  } satisfies Partial<ReportInput>;
  const report = await table.run(
    'report',
    () =>
      gates.perform('report', () =>
        orchestration.renderReport.executeWithOptions({ summary: `report: ${verdict}` }, [
          { context: plan.context, ...facts, stages: table.timings() },
        ]),
      ),
    (r) => r.directory,
  );
  return {
    runId: input.runId,
    verdict,
    reasons: evaluated?.comparison.gateReasons ?? ['No capability was kept and trained.'],
    summary: evaluated?.comparison.summary ?? '',
    promotedVersion,
    reportDirectory: report.directory,
  };
}

function outcomeOf(evaluated: EvaluationOutcome | null, promotedVersion: number | null): RunOutcome {
  if (evaluated === null) return 'nothing-to-sharpen';
  return promotedVersion === null ? 'not-promoted' : 'promoted';
}

/**
 * Gives each agent's tasks an equal share of the workers, so that one large run cannot starve the run of another agent.
 * The children of a child inherit it.
 */
const fairness = ({ agent }: RunPlan['context']) => ({ fairnessKey: agent });

function collect({ context }: RunPlan): Promise<RolloutSummary> {
  return sandbox.collectTrajectories.executeWithOptions({ summary: 'base agent on the train tasks' }, [context]);
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
  { table, gates }: Run,
  plan: RunPlan,
  collected: RolloutSummary,
  identified: IdentifyResult,
): Promise<SharpenResult[]> {
  const { maxAttempts, onRejected } = plan;
  const { identification, labels, kept } = identified;
  const sharpen = (capability: IdentifyResult['kept'][number]) =>
    executeChild<typeof sharpenCapability>(WORKFLOWS.sharpenCapability, {
      workflowId: childWorkflowId.sharpen(plan.context.runId, capability.id),
      priority: fairness(plan.context),
      staticSummary: `sharpen: ${capability.name}`,
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
        },
      ],
    });
  const showText = (key: string, text: string) => table.update({ key, text, waitingFor: null });
  // Each waits for itself: a capability that failed must not end the training of the others.
  return allOf(
    kept.map(async (capability) => {
      showText(capability.id, 'environment');
      const result = await gates.performUnlessSkipped(capability.id, () => sharpen(capability));
      const skipped = { status: 'skipped', reason: 'skipped by a person', environment: null, adapter: null } as const;
      const sharpened = result ?? { ...skipped, capability, attempts: [], tokens: [] };
      showText(capability.id, `${sharpened.status}, ${sharpened.reason}`);
      return sharpened;
    }),
  );
}

/** Evaluates the adapters. Null when none was trained. */
async function evaluate(
  { table, gates, skippable }: Run,
  plan: RunPlan,
  { trajectories }: RolloutSummary,
  identified: IdentifyResult,
  sharpened: SharpenResult[],
): Promise<EvaluationOutcome | null> {
  if (sharpened.every(({ adapter }) => adapter === null)) {
    table.skip('evaluate', 'no adapter to evaluate');
    return null;
  }
  return table.run(
    'evaluate',
    () => {
      const show = (text: string) => table.update({ key: 'evaluate', text, waitingFor: null });
      return evaluateArms({ plan, gates, skippable, trajectories, show }, identified, sharpened);
    },
    ({ comparison }) => comparison.summary,
  );
}

/** The evaluation that the run ends with, and the version in the registry, or null. */
interface Promotion {
  evaluated: EvaluationOutcome | null;
  promotedVersion: number | null;
}

/**
 * Promotes the candidate when the gate is passed and, where the agent's owner wants it, a person has approved. When
 * another version has become active since the comparison, the candidate is compared with that one first.
 */
async function promote(
  run: Run,
  plan: RunPlan,
  sharpened: SharpenResult[],
  first: EvaluationOutcome | null,
): Promise<Promotion> {
  const { table, gates } = run;
  if (first === null || !first.comparison.gatePassed) {
    table.skip('promote', first?.comparison.gateReasons.join(' ') ?? 'nothing to promote');
    return { evaluated: first, promotedVersion: null };
  }
  return table.run(
    'promote',
    async () => {
      if (plan.approval) await waitForApproval(run);
      for (let evaluated = first; ;) {
        const promotion = await gates.performUnlessSkipped('promote', () => promoteJudged(plan, sharpened, evaluated));
        if (promotion === null || promotion.version !== null)
          return { evaluated, promotedVersion: promotion?.version ?? null };
        evaluated = (await evaluated.judgeAgain?.()) ?? evaluated;
        if (!evaluated.comparison.gatePassed) return { evaluated, promotedVersion: null };
      }
    },
    ({ evaluated, promotedVersion }) => {
      if (promotedVersion !== null) return `version ${promotedVersion}`;
      return evaluated.comparison.gatePassed ? 'skipped by a person' : evaluated.comparison.gateReasons.join(' ');
    },
  );
}

function promoteJudged(
  { context }: RunPlan,
  sharpened: SharpenResult[],
  { router, mixed, comparison: { evaluation } }: EvaluationOutcome,
): Promise<PromoteResult> {
  const trained = sharpened.filter((s) => s.adapter !== null);
  return orchestration.promoteAdapters.executeWithOptions({ summary: `promote ${trained.length} adapters` }, [
    {
      context,
      adapters: [...trained.flatMap((s) => (s.adapter === null ? [] : [s.adapter])), ...(mixed ? [mixed] : [])],
      capabilities: trained.map((s) => s.capability),
      evaluation,
      ...(router && { router }),
    },
  ]);
}

async function waitForApproval(run: Run): Promise<void> {
  const { table, input } = run;
  if (run.approved) return;
  const waitingFor = `The gate is passed and the agent's owner wants to approve: whet approve ${input.runId}`;
  table.update({ key: 'promote', text: '', waitingFor, who: 'approval' });
  await condition(() => run.approved);
  table.update({ key: 'promote', text: '', waitingFor: null });
}

/** Refuses an approval before there is a result to approve. One that was given already may be given again. */
function requireApprovalAsked({ table, approved, input }: Run): void {
  if (approved || table.waiting.some(({ who }) => who === 'approval')) return;
  throw ApplicationFailure.nonRetryable(
    `${input.runId} does not ask for an approval: it is in stage ${table.current}. Where gate.approval is true, ` +
      'it asks when the gate is passed.',
    'Approve.NotAsked',
  );
}

/** Takes over what may change in an agent.yaml. Returns the paths of the fields that changed. */
async function amendSpec(run: Run, specPath: string): Promise<string[]> {
  if (run.plan === null) {
    // Nothing is frozen yet: `prepareRun` reads the whole file.
    run.input = { ...run.input, specPath };
    return [];
  }
  const { context } = run.plan;
  const { spec, changed } = await orchestration.amendSpec.executeWithOptions({ summary: `amend spec: ${specPath}` }, [
    { context, specPath },
  ]);
  run.plan.context = { ...context, spec };
  run.amended ||= changed.length > 0;
  return changed;
}

function describeCollected(collected: RolloutSummary): string {
  const { episodes, live = 0, successes, tooLong = 0, cut = 0, unreadable = 0, damagedLines = 0 } = collected;
  const conversations = live > 0 ? ` and ${live} conversations of live traffic` : '';
  const lost = unreadable > 0 ? `; ${unreadable} lines of live traffic could not be read` : '';
  const again = damagedLines > 0 ? `; ${damagedLines} damaged lines of the work file set aside and played again` : '';
  const long = tooLong > 0 ? `; ${tooLong} failed because their opening is longer than the model's context` : '';
  const short = cut > 0 ? `; ${cut} have a reply that was cut at model.maxCompletionTokens` : '';
  return `${episodes - live} rollouts${conversations}, ${successes} successes${long}${short}${lost}${again}`;
}

const describeIdentified = ({ kept, candidates }: IdentifyResult) =>
  `kept ${kept.length} of ${candidates}: ${kept.map(({ name }) => name).join(', ')}`;

const describeSharpened = (results: SharpenResult[]) =>
  `${results.filter(({ adapter }) => adapter !== null).length} of ${results.length} trained`;
