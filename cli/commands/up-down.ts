import { type Agent, defaultAgentPath, readAgent } from '../agent';
import type { Context } from '../context';
import { CliError } from '../errors';
import { modelServerLines } from '../model-server';
import { askSupervisor } from '../supervisor/supervisor-state';
import { supervise } from '../supervisor/supervisor';
import { down, planServices, up, withUpLock } from '../up';

/** `whet up [AGENT_YAML] [--foreground] [--ignore-open-runs]`: starts the services, detached or in this process. */
export async function upCommand(
  { settings, out }: Context,
  path: string | undefined,
  { foreground, ignoreOpenRuns }: { foreground?: boolean; ignoreOpenRuns?: boolean },
): Promise<void> {
  const chosen = path ?? defaultAgentPath();
  const agent = chosen === null ? null : readAgent(chosen);
  if (foreground === true) return superviseHere({ settings, out }, agent, ignoreOpenRuns);
  const { state, started } = await up(settings, out, { agent, anyPort: false, ignoreOpenRuns });
  for (const line of await modelServerLines(agent)) out.line(line);
  const where =
    state.temporal.uiUrl === null ? `Temporal ${state.temporal.address}` : `Temporal UI ${state.temporal.uiUrl}`;
  out.result({ started, ...state }, started ? `up: ${where}. Stop it with \`whet down\`.` : `already up: ${where}.`);
}

async function superviseHere(
  { settings, out }: Context,
  agent: Agent | null,
  ignoreOpenRuns: boolean | undefined,
): Promise<void> {
  const running = await askSupervisor(settings.home);
  if (running !== null)
    throw new CliError(
      `The services are up already (supervisor ${running.supervisor.pid}). Stop them with \`whet down\` first.`,
      { type: 'Up.AlreadyUp' },
    );
  const plan = await withUpLock(settings, out, async () => {
    const { plan: planned, missing } = await planServices(settings, out, { agent, anyPort: false, ignoreOpenRuns });
    if (missing !== null) out.line(missing);
    return planned;
  });
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  const ui = plan.temporal.start === null ? plan.temporal.address : `http://127.0.0.1:${plan.temporal.start.uiPort}`;
  for (const line of await modelServerLines(agent)) out.line(line);
  out.line(`Temporal: ${ui}. Logs: ${plan.logs}. Ctrl-C stops everything.`);
  await supervise(plan, stop.signal);
}

/** `whet down`: stops what `whet up` started. */
export async function downCommand({ settings, out }: Context): Promise<void> {
  const stopped = await down(settings, out);
  out.result({ stopped }, stopped.length === 0 ? 'Nothing was up.' : `stopped: ${stopped.join(', ')}`);
}
