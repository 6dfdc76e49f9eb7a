import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import type { ImprovementRunInput } from '../../contracts/messages/run';
import { type Agent, readAgent, requirePlayable } from '../agent';
import type { Context } from '../context';
import { CliError } from '../errors';
import { localTrouble } from '../local-services';
import { otherAnalyst } from '../other-analyst';
import { newRunId } from '../run-id';
import { readRunningSupervisorState } from '../supervisor/supervisor-state';
import { isTroubleOfServer } from '../temporal-errors';
import { requireSearchAttributes, type Temporal, withTemporal } from '../temporal';
import { type FirstChecks, watchFirstChecks } from '../view/first-checks';
import { followToEnd } from '../view/follow';
import { agentOf, OPEN_RUNS, type RunState } from '../view/run-state';
import { readReport, reportText } from '../view/report-text';
import { explainRun } from '../view/explain';
import { unsignedNoticesWarning } from '../unsigned-notices-warning';

/** A run's differences from its agent.yaml: for comparing the results, and where it ends. */
type RunChanges = Pick<ImprovementRunInput, 'arm' | 'ablations' | 'until'>;

/**
 * Starts an improvement run and returns its id, which is also the workflow's id. `modelSeed` is the seed of the
 * currently served model; null if it is unknown or does not exist. `runId`: an id of its own, for a run that is to be
 * found again.
 * @throws CliError if the namespace is not ready for runs: the first step of the run would fail for ever.
 */
export async function startRun(
  temporal: Temporal,
  agent: Agent,
  seed: number | undefined,
  changes: RunChanges,
  modelSeed: number | null,
  runId = newRunId(agent.spec.name),
): Promise<string> {
  const { client } = temporal;
  await requireSearchAttributes(temporal);
  const input: ImprovementRunInput = {
    runId,
    agent: agent.spec.name,
    specPath: agent.path,
    ...(seed === undefined ? {} : { seed }),
    ...changes,
  };
  try {
    await client.workflow.start(WORKFLOWS.improvementRun, {
      taskQueue: TASK_QUEUES.orchestration,
      workflowId: runId,
      args: [input],
      memo: {
        agent: agent.spec.name,
        seed: seed ?? agent.spec.seed,
        specPath: agent.path,
        ...(modelSeed !== null && { modelSeed }),
      },
      // Tasks of each agent get an equal share of the workers, so that one agent's large run does not delay another
      // agent's small run.
      priority: { fairnessKey: agent.spec.name },
      staticSummary: `improvement run of ${agent.spec.name}, seed ${seed ?? agent.spec.seed}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    throw new CliError(`A run with the id ${runId} exists already. Start it again: each start makes a new id.`, {
      cause: error,
    });
  }
  return runId;
}

/** Flags of `whet run`. */
export type RunFlags = { follow?: boolean; seed?: number } & RunChanges;

/**
 * `whet run AGENT_YAML [--follow] [--seed N] [--until STAGE] [--arm NAME] [--ablations]`: starts a run and prints the
 * results of its first checks. With `--follow` it shows the run to its end.
 */
export async function runCommand({ settings, out }: Context, path: string, options: RunFlags): Promise<void> {
  const agent = readAgent(path);
  if (options.until === undefined) requirePlayable(agent);
  await withTemporal(settings, async (temporal) => {
    const { arm, ablations, until } = options;
    const changes = {
      ...(arm !== undefined && { arm }),
      ...(ablations !== undefined && { ablations }),
      ...(until !== undefined && { until }),
    };
    const served = readRunningSupervisorState(settings.home);
    const strange = otherAnalyst(agent, served);
    const modelSeed = served?.agentPath === agent.path ? served.modelSeed : null;
    const runId = await startRun(temporal, agent, options.seed, changes, modelSeed);
    const beside = await otherOpenRuns(temporal, agent.spec.name, runId);
    const warnings = [strange, unsignedNoticesWarning(agent.spec.notify), besideText(beside, until)].filter(
      (text) => text !== null,
    );
    const began = [`started ${runId}`, ...warnings];
    if (options.follow !== true) {
      const trouble = () => localTrouble(settings, temporal.address);
      const checks = await watchFirstChecks(temporal.client, runId, trouble);
      const text = [...began, ...checksText(checks), `follow it with: whet status ${runId} --follow`].join('\n');
      const warning = warnings.join('\n');
      out.result({ runId, checks, beside, ...(warning !== '' && { warning }) }, text);
      return;
    }
    for (const line of began) out.line(line);
    const state = await followToEnd(temporal.client, runId, out);
    await showEnd({ settings, out }, state);
  });
}

/** Ids of the agent's other runs that have not ended. */
async function otherOpenRuns({ client }: Temporal, agent: string, started: string): Promise<string[]> {
  const others: string[] = [];
  try {
    for await (const info of client.workflow.list({ query: OPEN_RUNS }))
      if (info.workflowId !== started && agentOf(info) === agent) others.push(info.workflowId);
  } catch (error) {
    // The run has begun, so a failure to list others is not its failure.
    if (!isTroubleOfServer(error)) throw error;
  }
  return others;
}

/** A sentence about the agent's other open runs; null if it has none. */
function besideText(runs: readonly string[], until: RunChanges['until']): string | null {
  const [first] = runs;
  if (first === undefined) return null;
  const which = runs.length === 1 ? first : `${runs.length} other runs of this agent`;
  const shared = `It goes on beside ${which}. They share the labels that the analyst is asked for`;
  if (until !== undefined) return `${shared}.`;
  return (
    `${shared}, but each trains and evaluates for itself: \`whet cancel ${first}\` ends ` +
    `${runs.length === 1 ? 'the other one' : 'one of them'}.`
  );
}

/** The results of the first checks, one line each. */
function checksText({ passed, trouble }: FirstChecks): string[] {
  if (passed) return ['its first checks passed: agent.yaml, environment, model, analyst and jail'];
  if (trouble.length === 0) return ['its first checks go on: agent.yaml, environment, model, analyst and jail'];
  return ['it does not go on:', ...trouble];
}

/** Shows the result of a run that has ended. @throws CliError, with the reason, if it has no result. */
export async function showEnd({ out }: Context, state: RunState): Promise<void> {
  if (state.result === null)
    throw new CliError([`${state.runId}:`, ...explainRun(state)].join('\n'), {
      type: 'Run.Failed',
      reportedType: state.failure?.type ?? null,
    });
  if (state.result.reportDirectory === null) {
    out.result(state.result, explainRun(state).join('\n'));
    return;
  }
  const report = await readReport(state.result.reportDirectory);
  out.result(state.result, `\n${reportText(report)}\nreport: ${state.result.reportDirectory}/report.json`);
}
