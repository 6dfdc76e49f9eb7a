import { createHash } from 'node:crypto';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { canonicalJson } from '../../contracts/artifacts/trajectory-id';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import type { AgentSpec } from '../../contracts/config/agent-spec';

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

/** Whether the server has a run with this id that goes on, or has ended with a result. */
export async function hasRun(client: Client, runId: string): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(runId).describe();
    return status.name === 'RUNNING' || status.name === 'COMPLETED';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
