import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { findTemporalCli } from '../../cli/supervisor/executables';
import { WORKFLOWS } from '../../contracts/names';

const ROOT = resolve(__dirname, '..', '..');
/** Directory of the recorded histories. */
export const HISTORIES = join(__dirname, '..', 'replay', 'histories');

/**
 * Writes histories of a scenario into `test/replay/histories`, when RECORD_HISTORIES is set (CONTRIBUTING.md): of each
 * workflow type the longest one among the run and its children. A scenario names the types whose code it takes another
 * way through than every other scenario. Default: the run alone.
 */
export async function keepHistories(
  { client, address }: TestWorkflowEnvironment,
  workflowId: string,
  name: string,
  types: readonly string[] = [WORKFLOWS.improvementRun],
): Promise<void> {
  if (!process.env['RECORD_HISTORIES']) return;
  mkdirSync(HISTORIES, { recursive: true });
  const longest = await longestHistories(client, workflowId, types);
  for (const type of types) {
    const execution = longest.get(type)!;
    const show = ['workflow', 'show', '--address', address, '--output', 'json'];
    const history = execFileSync(
      findTemporalCli() as string,
      [...show, '--workflow-id', execution.workflowId, '--run-id', execution.runId],
      { maxBuffer: 64 << 20 },
    );
    writeFileSync(
      join(HISTORIES, `${name}.${type}.json`),
      // Stack traces contain the path of the checkout.
      `${JSON.stringify(JSON.parse(history.toString())).replaceAll(`${ROOT}/`, '')}\n`,
    );
  }
}

/** Of each type the longest one among a run and its children. The server's lists lag behind what has ended. */
async function longestHistories(
  client: TestWorkflowEnvironment['client'],
  workflowId: string,
  types: readonly string[],
): Promise<Map<string, WorkflowExecutionInfo>> {
  const isOfRun = new RegExp(`^${workflowId}(/|$)`);
  for (;;) {
    const longest = new Map<string, WorkflowExecutionInfo>();
    let isOpen = false;
    for await (const execution of client.workflow.list()) {
      if (!isOfRun.test(execution.workflowId)) continue;
      isOpen ||= execution.status.name === 'RUNNING';
      const { historyLength } = longest.get(execution.type) ?? { historyLength: 0 };
      if (execution.historyLength > historyLength) longest.set(execution.type, execution);
    }
    if (!isOpen && types.every((type) => longest.has(type))) return longest;
    await sleep(200);
  }
}
