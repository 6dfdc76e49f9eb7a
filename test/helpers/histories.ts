import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { findTemporalCli } from '../../cli/supervisor/executables';

const ROOT = resolve(__dirname, '..', '..');
/** Directory of the recorded histories. */
export const HISTORIES = join(__dirname, '..', 'replay', 'histories');

/**
 * Writes the histories of a run and its children into `test/replay/histories`, when RECORD_HISTORIES is set. Record
 * again only for a new version: that a recorded history replays means that the runs of its version can go on.
 */
export async function keepHistories(
  { client, address }: TestWorkflowEnvironment,
  workflowId: string,
  name: string,
): Promise<void> {
  if (!process.env['RECORD_HISTORIES']) return;
  mkdirSync(HISTORIES, { recursive: true });
  const prefix = new RegExp(`^${workflowId}(/|$)`);
  let count = 0;
  for await (const execution of client.workflow.list()) {
    if (!prefix.test(execution.workflowId)) continue;
    const show = [
      'workflow',
      'show',
      '--address',
      address,
      '--workflow-id',
      execution.workflowId,
      '--run-id',
      execution.runId,
      '--output',
      'json',
    ];
    const history = execFileSync(findTemporalCli() as string, show, { maxBuffer: 64 << 20 });
    writeFileSync(
      join(HISTORIES, `${name}.${execution.type}.${count++}.json`),
      // Stack traces say where the checkout lay.
      `${JSON.stringify(JSON.parse(history.toString())).replaceAll(`${ROOT}/`, '')}\n`,
    );
  }
}
