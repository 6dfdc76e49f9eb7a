import { randomBytes } from 'node:crypto';

/** `run-<agent>-<yyyymmdd-hhmmss>-<4 hex>` in UTC: sorts by time and is the workflow's id. */
export function newRunId(agent: string, now: Date = new Date()): string {
  const stamp = now.toISOString().replace(/\..*$/, '').replaceAll('-', '').replaceAll(':', '').replace('T', '-');
  return `run-${agent}-${stamp}-${randomBytes(2).toString('hex')}`;
}
