import { SEARCH_ATTRIBUTES, WORKFLOWS } from '../../contracts/names';
import type { Context } from '../context';
import { CliError } from '../errors';
import { duration, table } from '../output';
import { withTemporal } from '../temporal';
import { agentOf } from '../view/run-state';

/** A run in the list. */
interface RunRow {
  runId: string;
  agent: string | null;
  status: string;
  stage: string | null;
  verdict: string | null;
  startedAt: string;
  seconds: number;
}

/** `whet ls [--agent NAME] [--limit N]`: runs, the newest first. */
export async function lsCommand(
  { settings, out }: Context,
  { agent, limit }: { agent?: string; limit: number },
): Promise<void> {
  if (agent !== undefined && !/^[a-z0-9-]+$/.test(agent)) {
    throw new CliError(`--agent ${JSON.stringify(agent)}: an agent's name has lower-case letters, digits and dashes.`, {
      exitCode: 2,
    });
  }
  await withTemporal(settings, async ({ client }) => {
    const ofAgent = agent === undefined ? '' : ` AND ${SEARCH_ATTRIBUTES.agent} = '${agent}'`;
    const query = `WorkflowType = '${WORKFLOWS.improvementRun}'${ofAgent}`;
    const rows: RunRow[] = [];
    for await (const info of client.workflow.list({ query })) {
      const attribute = (name: string) => (info.searchAttributes[name] as string[] | undefined)?.[0] ?? null;
      rows.push({
        runId: info.workflowId,
        agent: agentOf(info),
        status: info.status.name.toLowerCase(),
        stage: attribute(SEARCH_ATTRIBUTES.stage),
        verdict: attribute(SEARCH_ATTRIBUTES.verdict),
        startedAt: info.startTime.toISOString(),
        seconds: ((info.closeTime ?? new Date()).getTime() - info.startTime.getTime()) / 1000,
      });
      if (rows.length >= limit) break;
    }
    const text = rows.map((r) => [
      r.runId,
      r.status,
      r.stage ?? '',
      r.status === 'running' ? '' : (r.verdict ?? ''),
      duration(r.seconds),
    ]);
    out.result(rows, rows.length === 0 ? 'No runs.' : table([['run', 'status', 'stage', 'verdict', 'time'], ...text]));
  });
}
