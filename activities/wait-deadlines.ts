import type { AgentSpec } from '../contracts/config/agent-spec';
import type { WaitDeadlines } from '../contracts/messages/run';

const HOUR_MS = 3_600_000;

/** The longest waits of a run. A run that a person started waits for answers without a limit. */
export function waitDeadlines(
  { gate, schedule }: Pick<AgentSpec, 'gate' | 'schedule'>,
  scheduled: boolean,
): WaitDeadlines {
  return {
    approvalMs: Math.round(gate.approvalDeadlineHours * HOUR_MS),
    holdMs: scheduled ? Math.round(schedule.waitDeadlineHours * HOUR_MS) : null,
  };
}
