import { condition, executeChild, getExternalWorkflowHandle, setHandler, workflowInfo } from '@temporalio/workflow';
import { childWorkflowId, type RunOutcome, WORKFLOWS } from '../contracts/names';
import type { IdentifyResult } from '../contracts/messages/identify-stage';
import type { ImprovementRunInput, ImprovementRunResult, ReportInput, RunPlan } from '../contracts/messages/run';
import type { SharpenResult } from '../contracts/messages/sharpen-stage';
import type { RolloutSummary } from '../contracts/artifacts/trajectory';
import { orchestration, sandbox } from './activities';
import { evaluateArms, type EvaluationOutcome } from './evaluate-arms';
import type { identifyCapabilities } from './identify-capabilities';
import { approveUpdate, editSignal, statusSignal, progressQuery, retrySignal, skipSignal } from './messages';
import type { sharpenCapability } from './sharpen-capability';
import { RunProgressTable } from './run-progress-table';

/**
 * One improvement run of one agent, in the order of the paper: collect, identify, sharpen, evaluate, promote, report.
 * Throws when a stage fails in a way that nobody can correct while it waits.
 */
export async function improvementRun(given: ImprovementRunInput): Promise<ImprovementRunResult> {
  // A schedule gives each of its runs the same input; the workflow's id tells them apart.
  const input = given.runId === '' ? { ...given, runId: workflowInfo().workflowId } : given;
  const table = new RunProgressTable(input.runId, input.agent);
  let approved = false;
  setHandler(progressQuery, () => table.progress());
  setHandler(statusSignal, (status) => table.update(status));
  setHandler(approveUpdate, () => void (approved = true));
  forwardAnswers(input.runId);
  try {
    const plan = await orchestration.prepareRun(input);
    const collected = await table.run('collect', () => sandbox.collectTrajectories(plan.context), describeCollected);
    const identified = await table.run('identify', () => identify(plan, collected), describeIdentified);
    const sharpened = await table.run('sharpen', () => sharpenAll(plan, collected, identified), describeSharpened);
    const evaluated = await evaluate(table, plan, identified, sharpened);
    const promotedVersion = await promote(table, plan, sharpened, evaluated, () => approved);
    const verdict = outcomeOf(evaluated, promotedVersion);
    const facts: Omit<ReportInput, 'stages'> = {
      context: plan.context,
      verdict,
      collected,
      identified,
      sharpened,
      mixed: evaluated?.mixed ?? null,
      arms: evaluated?.arms ?? [],
      comparison: evaluated?.comparison ?? null,
      routing: evaluated?.routing ?? null,
      promotedVersion,
    };
    const report = await table.run(
      'report',
      () => orchestration.renderReport({ ...facts, stages: table.timings() }),
      (r) => r.directory,
    );
    table.end(verdict);
    return {
      runId: input.runId,
      verdict,
      reasons: evaluated?.comparison.gateReasons ?? ['No capability was kept and trained.'],
      summary: evaluated?.comparison.summary ?? '',
      promotedVersion,
      reportDirectory: report.directory,
    };
  } catch (error) {
    table.end('failed');
    throw error;
  }
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

function identify({ context }: RunPlan, collected: RolloutSummary): Promise<IdentifyResult> {
  return executeChild<typeof identifyCapabilities>(WORKFLOWS.identifyCapabilities, {
    workflowId: childWorkflowId.identify(context.runId),
    priority: fairness(context),
    staticSummary: `contrast ${collected.failures} failures with ${collected.successes} successes`,
    args: [{ context, collected }],
  });
}

function sharpenAll(plan: RunPlan, collected: RolloutSummary, identified: IdentifyResult): Promise<SharpenResult[]> {
  const { context, maxAttempts, onRejected } = plan;
  const { identification, labels, kept } = identified;
  const one = (capability: IdentifyResult['kept'][number]) =>
    executeChild<typeof sharpenCapability>(WORKFLOWS.sharpenCapability, {
      workflowId: childWorkflowId.sharpen(context.runId, capability.id),
      priority: fairness(context),
      staticSummary: capability.name,
      args: [
        {
          context,
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
  return Promise.all(kept.map(one));
}

/** Evaluates the adapters. Null when none was trained. */
async function evaluate(
  table: RunProgressTable,
  plan: RunPlan,
  identified: IdentifyResult,
  sharpened: SharpenResult[],
): Promise<EvaluationOutcome | null> {
  if (sharpened.every(({ adapter }) => adapter === null)) {
    table.skip('evaluate', 'no adapter to evaluate');
    return null;
  }
  return table.run(
    'evaluate',
    () => evaluateArms(plan, identified, sharpened),
    ({ comparison }) => comparison.summary,
  );
}

/**
 * Promotes the adapters when the gate is passed and, where the agent's owner wants it, a person has approved. Returns
 * the version in the registry, or null.
 */
async function promote(
  table: RunProgressTable,
  { approval, context }: RunPlan,
  sharpened: SharpenResult[],
  evaluated: EvaluationOutcome | null,
  approved: () => boolean,
): Promise<number | null> {
  if (evaluated === null || !evaluated.comparison.gatePassed) {
    table.skip('promote', evaluated?.comparison.gateReasons.join(' ') ?? 'nothing to promote');
    return null;
  }
  const { evaluation } = evaluated.comparison;
  const trained = sharpened.filter((s) => s.adapter !== null);
  const promotion = await table.run(
    'promote',
    async () => {
      if (approval && !approved()) {
        const waitingFor = `The gate is passed and the agent's owner wants to approve: whet approve ${context.runId}`;
        table.update({ key: 'promote', text: '', waitingFor });
        await condition(approved);
        table.update({ key: 'promote', text: '', waitingFor: null });
      }
      return orchestration.promoteAdapters({
        context,
        adapters: trained.flatMap((s) => (s.adapter === null ? [] : [s.adapter])),
        capabilities: trained.map((s) => s.capability),
        evaluation,
      });
    },
    ({ version }) => `version ${version}`,
  );
  return promotion.version;
}

/** Passes the answers of `whet retry`, `whet skip` and `whet env edit` on to the child that waits for them. */
function forwardAnswers(runId: string): void {
  const childFor = (capabilityId?: string) =>
    getExternalWorkflowHandle(
      capabilityId === undefined ? childWorkflowId.identify(runId) : childWorkflowId.sharpen(runId, capabilityId),
    );
  // A child that has ended needs no answer.
  const ignore = () => undefined;
  setHandler(retrySignal, (answer) => childFor(answer.capabilityId).signal(retrySignal, answer).catch(ignore));
  setHandler(skipSignal, (answer) => childFor(answer.capabilityId).signal(skipSignal, answer).catch(ignore));
  setHandler(editSignal, (edited) => childFor(edited.capabilityId).signal(editSignal, edited).catch(ignore));
}

function describeCollected({ episodes, live = 0, successes, unreadable = 0 }: RolloutSummary): string {
  const conversations = live > 0 ? ` and ${live} conversations of live traffic` : '';
  const lost = unreadable > 0 ? `; ${unreadable} lines of live traffic could not be read` : '';
  return `${episodes - live} rollouts${conversations}, ${successes} successes${lost}`;
}

const describeIdentified = ({ kept, candidates }: IdentifyResult) =>
  `kept ${kept.length} of ${candidates}: ${kept.map(({ name }) => name).join(', ')}`;

const describeSharpened = (results: SharpenResult[]) =>
  `${results.filter(({ adapter }) => adapter !== null).length} of ${results.length} trained`;
