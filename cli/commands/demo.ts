import { pathToFileURL } from 'node:url';
import { SEARCH_ATTRIBUTES } from '../../contracts/names';
import { type Agent, defaultAgentPath, readAgent, requirePlayable } from '../agent';
import type { Context } from '../context';
import { CliError } from '../errors';
import { withInterrupt } from '../foreground';
import { duration } from '../output';
import { type Temporal, withTemporal } from '../temporal';
import { down, up } from '../up';
import { followRun } from '../view/follow';
import { OPEN_RUNS } from '../view/run-state';
import { showEnd, startRun } from './run';

/**
 * `whet demo [AGENT_YAML] [--seed N] [--keep] [--ignore-open-runs] [--since SECONDS]`: starts the services, follows one
 * improvement run and shows its result, the place of its report and the next commands. It continues an unfinished run
 * of the same agent and seed, if there is one. At the end it stops everything that it started, unless `--keep` is
 * given. The total time starts at `--since`, in seconds since 1970, or by default at the start of the command.
 */
export async function demoCommand(
  context: Context,
  path: string | undefined,
  {
    seed,
    keep,
    ignoreOpenRuns,
    since = Date.now() / 1000,
  }: { seed?: number; keep?: boolean; ignoreOpenRuns?: boolean; since?: number },
): Promise<void> {
  const { settings, out } = context;
  const chosen = path ?? defaultAgentPath();
  if (chosen === null)
    throw new CliError('There is no agent.yaml here. Name one: whet demo AGENT_YAML.', { exitCode: 2 });
  const agent = readAgent(chosen);
  requirePlayable(agent);
  await withInterrupt(
    async (signal) => {
      let started = false;
      try {
        const services = await up(settings, out, {
          agent,
          modelSeed: seed ?? agent.spec.seed,
          // A demo must not fail because another program uses one of the usual ports.
          anyPort: true,
          needsAnalyst: true,
          ignoreOpenRuns,
          signal,
        });
        started = services.started;
        await withTemporal(settings, async (temporal) => {
          const open = await openRun(temporal, agent, seed ?? agent.spec.seed);
          const runId = open ?? (await startRun(temporal, agent, seed, {}, services.state.modelSeed));
          out.line(`${open === null ? 'run' : 'going on with run'} ${runId}`);
          const state = await followRun(temporal.client, runId, out, signal);
          if (signal.aborted && state.status === 'running') throw interrupted(runId);
          if (started && keep !== true) {
            await down(settings, out);
            started = false;
            out.line('services stopped');
          }
          out.line(`total time ${duration(Date.now() / 1000 - since)}`);
          await showEnd(context, state);
          const directory = state.result?.reportDirectory ?? null;
          if (directory !== null) for (const line of afterDemo(chosen, directory)) out.line(line);
        });
      } finally {
        if (started && keep !== true) await down(settings, out);
      }
    },
    ['SIGINT', 'SIGTERM'],
  );
}

/** The address of the report, and three commands for a newcomer to try next. */
export function afterDemo(agentPath: string, reportDirectory: string): string[] {
  return [
    `open   ${pathToFileURL(`${reportDirectory}/report.html`).href}`,
    '',
    'next:',
    `  ./whet up ${agentPath}   # the services again, with this run in the Temporal UI`,
    `  ./whet run ${agentPath} --follow   # a second night, while the services are up: what did not change is reused`,
    '  ./whet validate YOUR/agent.yaml   # checks an agent of your own; the README says how to write it',
  ];
}

function interrupted(runId: string): CliError {
  return new CliError(`Interrupted; ${runId} is not lost: the same command goes on with it.`, {
    type: 'Demo.Interrupted',
  });
}

/** The id of a run of this agent and seed that has not ended; null if there is none. */
async function openRun({ client }: Temporal, agent: Agent, seed: number): Promise<string | null> {
  const query = `${OPEN_RUNS} AND ${SEARCH_ATTRIBUTES.agent} = '${agent.spec.name}'`;
  for await (const info of client.workflow.list({ query })) {
    if (info.memo?.['seed'] === seed && info.memo['specPath'] === agent.path) return info.workflowId;
  }
  return null;
}
