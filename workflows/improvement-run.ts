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
 */
export async function improvementRun(given: ImprovementRunInput): Promise<ImprovementRunResult> {
  // A schedule gives each of its runs the same input; the workflow's id tells them apart.
  const input = given.runId === '' ? { ...given, runId: workflowInfo().workflowId } : given;
  const board = new RunProgressTable(input.runId, input.agent);
  let approved = false;
  setHandler(progressQuery, () => board.progress());
  setHandler(statusSignal, (note) => board.note(note));
  setHandler(approveUpdate, () => void (approved = true));
  forwardAnswers(input.runId);
  try {
    const plan = await orchestration.prepareRun(input);
    const collected = await board.run('collect', () => sandbox.collectTrajectories(plan.context), describeCollected);
    const identified = await board.run('identify', () => identify(plan, collected), describeIdentified);
    const sharpened = await board.run('sharpen', () => sharpenAll(plan, collected, identified), describeSharpened);
    const anyTrained = sharpened.some((s) => s.adapter !== null);
    if (!anyTrained) board.skip('evaluate', 'no adapter to evaluate');
    const evaluated = anyTrained
      ? await board.run(
          'evaluate',
          () => evaluateArms(plan, identified, sharpened),
          (e) => e.comparison.summary,
        )
      : null;
    const version = await promote(board, plan, sharpened, evaluated, () => approved);
    const verdict: RunOutcome =
      evaluated === null ? 'nothing-to-sharpen' : version === null ? 'not-promoted' : 'promoted';
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
      promotedVersion: version,
    };
    const report = await board.run(
      'report',
      () => orchestration.renderReport({ ...facts, stages: board.timings() }),
      (r) => r.directory,
    );
    board.verdict(verdict);
    return {
      runId: input.runId,
      verdict,
      reasons: evaluated?.comparison.gateReasons ?? ['No capability was kept and trained.'],
      summary: evaluated?.comparison.summary ?? '',
      promotedVersion: version,
      reportDirectory: report.directory,
    };
  } catch (error) {
    board.verdict('failed');
    throw error;
  }
}

/**
 * Tasks of each agent get an equal share of the workers, so that one large run cannot starve another agent's. Children
 * inherit it.
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

/**
 * Promotes when the gate holds and, where the agent's owner wants it, a person approved. Returns the version, or null.
 */
async function promote(
  board: RunProgressTable,
  plan: RunPlan,
  sharpened: SharpenResult[],
  evaluated: EvaluationOutcome | null,
  approved: () => boolean,
): Promise<number | null> {
  if (evaluated === null || !evaluated.comparison.gatePassed) {
    board.skip('promote', evaluated?.comparison.gateReasons.join(' ') ?? 'nothing to promote');
    return null;
  }
  const trained = sharpened.filter((s) => s.adapter !== null);
  const promotion = await board.run(
    'promote',
    async () => {
      if (plan.approval && !approved()) {
        board.note({
          key: 'promote',
          text: '',
          waitingFor: `The gate is passed and the agent's owner wants to approve: whet approve ${plan.context.runId}`,
        });
        await condition(approved);
        board.note({ key: 'promote', text: '', waitingFor: null });
      }
      return orchestration.promoteAdapters({
        context: plan.context,
        adapters: trained.flatMap((s) => (s.adapter === null ? [] : [s.adapter])),
        capabilities: trained.map((s) => s.capability),
        evaluation: evaluated.comparison.evaluation,
      });
    },
    ({ version }) => `version ${version}`,
  );
  return promotion.version;
}

/** `whet retry`, `whet skip` and `whet env edit` speak to the run; whoever waits is one of its children. */
function forwardAnswers(runId: string): void {
  const target = (capabilityId?: string) =>
    getExternalWorkflowHandle(
      capabilityId === undefined ? childWorkflowId.identify(runId) : childWorkflowId.sharpen(runId, capabilityId),
    );
  // A child that has ended needs no answer.
  setHandler(retrySignal, (answer) =>
    target(answer.capabilityId)
      .signal(retrySignal, answer)
      .catch(() => undefined),
  );
  setHandler(skipSignal, (answer) =>
    target(answer.capabilityId)
      .signal(skipSignal, answer)
      .catch(() => undefined),
  );
  setHandler(editSignal, (edited) =>
    target(edited.capabilityId)
      .signal(editSignal, edited)
      .catch(() => undefined),
  );
}

const describeCollected = ({ episodes, live = 0, successes, unreadable = 0 }: RolloutSummary) =>
  `${episodes - live} rollouts${live > 0 ? ` and ${live} conversations of live traffic` : ''}, ${successes} successes${unreadable > 0 ? `; ${unreadable} lines of live traffic could not be read` : ''}`;
const describeIdentified = (i: IdentifyResult) =>
  `kept ${i.kept.length} of ${i.candidates}: ${i.kept.map((k) => k.name).join(', ')}`;
const describeSharpened = (s: SharpenResult[]) =>
  `${s.filter((x) => x.adapter !== null).length} of ${s.length} trained`;
