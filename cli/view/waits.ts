import type { Client } from '@temporalio/client';
import type { RepeatedFailure, RunProgress, RunWait } from '../../contracts/messages/run';
import { MESSAGES, type WaitingFor } from '../../contracts/names';
import { duration } from '../output';
import type { RunState } from './run-state';

/** Whom a run waits for, as the end of a sentence that begins with "It waits". */
export const WAITS_FOR: Record<WaitingFor, string> = {
  operator: 'for the operator',
  owner: "for the agent's owner",
  cluster: 'for the cluster',
  approval: 'for an approval',
  'repeated-failure': 'until what fails works again',
};

/** A wait in a run. */
export interface Wait {
  /** Its name in `whet retry RUN KEY`. */
  key: string;
  who: WaitingFor;
  /** As an ISO date. */
  since: string;
  /** Its deadline as an ISO date; null: none. */
  until: string | null;
  reason: string;
  /** The commands that answer it. Empty if it continues by itself. */
  commands: string[];
}

/** The waits of a run, the longest first: waits for a person, then repeated failures. */
export function waitsOf(runId: string, { waits, failing }: Pick<RunProgress, 'waits' | 'failing'>): Wait[] {
  const bySince = (a: { sinceMs: number }, b: { sinceMs: number }) => a.sinceMs - b.sinceMs;
  return [
    ...[...waits].sort(bySince).map((wait) => ({
      key: wait.key,
      who: wait.who,
      since: new Date(wait.sinceMs).toISOString(),
      until: wait.untilMs === undefined ? null : new Date(wait.untilMs).toISOString(),
      reason: wait.reason,
      commands: commandsIn(runId, wait),
    })),
    ...[...failing].sort(bySince).map((one) => ({
      key: one.key,
      who: 'repeated-failure' as const,
      since: new Date(one.sinceMs).toISOString(),
      until: null,
      reason: failingText(one),
      commands: [],
    })),
  ];
}

/**
 * The sentence that an activity keeps failing, without the time of its first failure. Not every attempt is reported to
 * the run.
 */
export const failingText = ({ attempts, reason }: Pick<RepeatedFailure, 'attempts' | 'reason'>): string =>
  `At least ${attempts} attempts have failed. The last one: ${reason}`;

/**
 * Retries the parts of a run that wait because of a failure of one type, and returns their keys.
 * @param isChosen gets the reason of such a wait, which begins with the failure's type.
 */
export async function retryWaits(
  client: Client,
  { runId, progress }: RunState,
  isChosen: (reason: string) => boolean,
): Promise<string[]> {
  const keys = (progress?.waits ?? []).filter(({ reason }) => isChosen(reason)).map(({ key }) => key);
  const handle = client.workflow.getHandle(runId);
  for (const key of keys) await handle.signal(MESSAGES.retrySignal, key === 'identify' ? {} : { capabilityId: key });
  return keys;
}

/** The commands in a wait's reason, as a person types them. */
function commandsIn(runId: string, { key, reason }: RunWait): string[] {
  const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const command = new RegExp(
    `whet (?:env )?[a-z]+ ${literal(runId)}(?: ${literal(key)}(?: ${literal(key)}\\.py)?)?(?![\\w-])`,
    'g',
  );
  return [...new Set([...reason.matchAll(command)].map(([text]) => text))];
}

/** `since 2026-03-01 14:03 UTC (12 min 05 s)`. */
export function sinceText(sinceMs: number, now: number): string {
  const then = `${new Date(sinceMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `since ${then} (${duration(Math.max(0, now - sinceMs) / 1000)})`;
}

/** `, at the longest until 2026-03-02 10:03 UTC (19 h 58 min left)`; empty for a wait without a deadline. */
export function untilText(untilMs: number | undefined, now: number): string {
  if (untilMs === undefined) return '';
  const then = `${new Date(untilMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `, at the longest until ${then} (${duration(Math.max(0, untilMs - now) / 1000)} left)`;
}
