import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { canonicalJson } from '../../contracts/artifacts/trajectory-id';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { ImprovementRunResult } from '../../contracts/messages/run';

/**
 * The id of the run on these conversations: the same for the same conversations, outcomes, agent.yaml and analyst, so
 * that a command that was interrupted finds its run again.
 * @param analyst what identifies the analyst.
 */
export function runIdOf(
  spec: AgentSpec,
  conversations: readonly Pick<Trajectory, 'id' | 'success'>[],
  analyst: unknown,
): string {
  const outcomes = conversations.map(({ id, success }) => [id, success]);
  const content = canonicalJson({ spec, outcomes, analyst });
  return `run-${spec.name}-${createHash('sha256').update(content).digest('hex').slice(0, 16)}`;
}

/**
 * Whether the server has a run with this id that goes on, or has ended with a result. One whose report was removed has
 * none.
 */
export async function hasRun(client: Client, runId: string): Promise<boolean> {
  try {
    const handle = client.workflow.getHandle(runId);
    const { status } = await handle.describe();
    if (status.name !== 'COMPLETED') return status.name === 'RUNNING';
    const { reportDirectory } = (await handle.result()) as ImprovementRunResult;
    return reportDirectory === null || existsSync(join(reportDirectory, 'report.json'));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
