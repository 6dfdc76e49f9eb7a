import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeLeftFolders } from '../contracts/temporary-folders';
import { makeFolder, makePrivateFolder } from '../store';
import { CliError } from './errors';
import { withInterrupt } from './foreground';
import { projectRoot } from '../contracts/project-root';
import { withHomeLock } from './home-lock';
import { refuseToStrandRuns } from './open-runs';
import { duration, type Output } from './output';
import type { Settings } from './settings';
import { jailGroupFolders, removeLeftJailGroups } from './supervisor/jail-groups';
import { errorsOfLog, logTail } from './supervisor/log-tail';
import { makePlan, missingAnalyst, type Plan, playedAnalyst, type PlanOptions } from './supervisor/plan';
import { holderOf } from './supervisor/kernel-lock';
import { endProcesses, isRunning, processesOfHome } from './supervisor/processes';
import { askedAnalyst, servicesAnalyst } from './supervisor/services-analyst';
import { currentStep, isWaitedFor, serviceRow, TITLES, waitingText } from './supervisor/service-text';
import {
  askSupervisor,
  readKeptState,
  readSupervisorState,
  removeSupervisorState,
  supervisorLock,
  type ServiceState,
  type SupervisorState,
} from './supervisor/supervisor-state';
import { requireOwnServer } from './temporal';

/** Making the demo's model and starting a vLLM take minutes; everything else takes seconds. */
const READY_LIMIT_MS = 60 * 60_000;
const PLAIN_EVERY_MS = 15_000;

/** Options of `up`. */
export interface UpOptions extends PlanOptions {
  /** true: start the services even if open runs cannot continue with them. Default false. */
  ignoreOpenRuns?: boolean | undefined;
  /** true: start nothing if a run would find no analyst. Default false: only a line says so. */
  needsAnalyst?: boolean;
  /** When it fires, the wait ends and the started services are stopped. Default: Ctrl-C only ends the wait. */
  signal?: AbortSignal;
}

/** The services that are up after `up`. */
export interface UpResult {
  state: SupervisorState;
  /** false: it was up already, and nothing was started. */
  started: boolean;
}

/**
 * Starts the embedded services under a detached supervisor and waits until they work. Starts nothing if they are up for
 * the same agent.
 * @throws CliError in these cases: they are up for another agent, model seed or analyst; your own Temporal server
 *   does not answer; a port is taken; a needed analyst is missing; or a part cannot start (the message ends with its
 *   log).
 */
export async function up(settings: Settings, out: Output, options: UpOptions): Promise<UpResult> {
  const started = await withUpLock(settings, out, async () => {
    const running = await askSupervisor(settings.home);
    if (running !== null) {
      refuseOtherAgent(running, options);
      refuseOtherAnalyst(running, settings, options);
      return false;
    }
    const { plan, missing } = await planServices(settings, out, options);
    if (missing !== null && options.needsAnalyst === true)
      throw new CliError(`${missing} Nothing was started.`, { type: 'Demo.NoAnalyst' });
    if (missing !== null) out.line(`${missing} A run will stop until there is one.`);
    await startSupervisor(settings, plan);
    return true;
  });
  const state =
    options.signal === undefined
      ? await withInterrupt((signal) => waitUntilReady(settings, out, false, signal))
      : await waitUntilReady(settings, out, started, options.signal);
  return { state, started };
}

/** Lets one `whet up` or `whet down` at a time decide which services run here; a second one waits. */
export const withUpLock = <T>(settings: Settings, out: Output, action: () => Promise<T>): Promise<T> =>
  withHomeLock(settings, { purpose: 'up', does: 'starts or stops the services here' }, out, action);

/**
 * Ends the services that an earlier supervisor left, and decides which to start. `missing` says why a run would find no
 * analyst; null if it will find one. The caller holds the lock of `withUpLock`.
 * @throws CliError if a supervisor does not answer, the user's own Temporal server does not answer, a port is taken, or
 *   open runs could not continue with these services.
 */
export async function planServices(
  settings: Settings,
  out: Output,
  { agent, modelSeed, anyPort, analystOf, ignoreOpenRuns }: UpOptions,
): Promise<{ plan: Plan; missing: string | null }> {
  refuseSilentSupervisor(settings);
  await endLeftovers(settings, out);
  const plan = await makePlan(settings, { agent, modelSeed, anyPort, analystOf });
  if (plan.temporal.start === null) await requireOwnServer(settings);
  if (ignoreOpenRuns !== true) await refuseToStrandRuns(settings, plan);
  // Where it cannot be made, the supervisor says so.
  await makePrivateFolder(settings.storeRoot).catch(() => undefined);
  return { plan, missing: missingAnalyst(settings, agent, plan) };
}

/**
 * Ends processes of a killed supervisor, because their ports and their database are needed. They are found by their
 * mark, so a missing or damaged state does not matter. The caller holds the lock of `withUpLock`.
 */
export async function endLeftovers({ home }: Settings, out: Output): Promise<void> {
  const kept = readKeptState(home);
  const left = processesOfHome(home);
  if (kept.kind === 'damaged')
    out.line(
      `${kept.path} cannot be used: ${kept.reason}. It is removed` +
        `${left.length === 0 ? '' : `, and the ${left.length} processes that were started here are ended`}.`,
    );
  await endProcesses(left);
  removeSupervisorState(home);
}

/** Stops everything that `whet up` started here. Returns the names of the parts that ran; empty if there were none. */
export function down(settings: Settings, out: Output): Promise<string[]> {
  return withUpLock(settings, out, async () => {
    const state = (await askSupervisor(settings.home)) ?? readSupervisorState(settings.home);
    const ran = state?.services.filter((s) => s.process !== null && isRunning(s.process)).map((s) => s.name) ?? [];
    // The kernel knows the supervisor even if it is stopped and its state is damaged.
    const supervisor = state?.supervisor ?? holderOf(supervisorLock(settings.home));
    const jailGroups = [
      ...processesOfHome(settings.home).flatMap(({ pid }) => jailGroupFolders(pid)),
      ...jailGroupFolders(),
    ];
    // The supervisor stops its services in order; a minute is longer than the sum of their grace periods.
    if (supervisor !== null) await endProcesses([supervisor], 60_000);
    await endLeftovers(settings, out);
    await removeLeftJailGroups(jailGroups);
    // A worker that was killed at last finds no successor that would do so.
    await removeLeftFolders();
    return ran;
  });
}

const STOP_THEM = 'Stop them with `whet down` first, or use another state directory (WHET_HOME).';

/**
 * @throws CliError if a supervisor runs here that does not answer: two supervisors would fight for the same services.
 */
function refuseSilentSupervisor({ home }: Settings): void {
  const holder = holderOf(supervisorLock(home));
  if (holder === null) return;
  throw new CliError(
    `The supervisor of ${home} (process ${holder.pid}) runs but gives no answer. Let it go on if somebody stopped it ` +
      `(\`kill -CONT ${holder.pid}\`), or end everything with \`whet down\`.`,
    { type: 'Up.AlreadyUp' },
  );
}

/** @throws CliError if the running services serve another agent, or a model of another seed. */
function refuseOtherAgent(state: SupervisorState, { agent, modelSeed }: UpOptions): void {
  const agentPath = agent?.path ?? null;
  if (agentPath === null) return;
  if (agentPath === state.agentPath) {
    if (modelSeed === undefined || state.modelSeed === null || modelSeed === state.modelSeed) return;
    throw new CliError(
      `The services that are up serve the model of seed ${state.modelSeed}, not of seed ${modelSeed}. ` + STOP_THEM,
      { type: 'Up.OtherAgent' },
    );
  }
  throw new CliError(
    `The services that are up serve ${state.agentPath === null ? 'no agent' : `the agent ${state.agentPath}`}, ` +
      `not ${agentPath}. ${STOP_THEM}`,
    { type: 'Up.OtherAgent' },
  );
}

/**
 * @throws CliError if the running services would ask another analyst than those of this start: one would be paid that
 *   was not agreed to, or recorded answers would be taken for a model's.
 */
function refuseOtherAnalyst(
  { analyst }: Pick<SupervisorState, 'analyst'>,
  settings: Settings,
  { agent, analystOf }: UpOptions,
): void {
  if (agent === null) return;
  const planned = servicesAnalyst(playedAnalyst(settings, { agent, analystOf }, projectRoot()));
  const wanted = askedAnalyst(planned, agent.spec);
  const asked = analyst === undefined ? 'an analyst that they do not name' : askedAnalyst(analyst, agent.spec);
  if (asked === wanted) return;
  throw new CliError(`The services that are up ask ${asked}, not ${wanted}. ${STOP_THEM}`, { type: 'Up.OtherAgent' });
}

/** Starts the detached supervisor and waits until it has written its state. */
async function startSupervisor({ home }: Settings, plan: Plan): Promise<void> {
  await makeFolder(plan.logs);
  const path = join(plan.logs, 'supervisor.log');
  const log = openSync(path, 'a');
  const child = spawn(process.execPath, ['--enable-source-maps', join(__dirname, 'supervisor', 'main.js')], {
    env: { ...process.env, WHET_PLAN: JSON.stringify(plan) },
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  let ended = false;
  child.once('error', () => (ended = true));
  child.once('exit', () => (ended = true));
  while ((await askSupervisor(home))?.instance !== plan.instance) {
    if (ended)
      throw new CliError(`The supervisor ended before it had started anything. Its log ends with:\n${logTail(path)}`, {
        type: 'Up.Failed',
      });
    await sleep(50);
  }
  child.unref();
}

/** Waits until every service works, and shows which do. It prints the address of Temporal's UI at once. */
async function waitUntilReady(
  settings: Settings,
  out: Output,
  own: boolean,
  signal: AbortSignal,
): Promise<SupervisorState> {
  const began = Date.now();
  const progress = createProgress(out);
  for (;;) {
    if (signal.aborted) {
      if (!own)
        throw new CliError(
          'The services go on starting. `whet up` with the same agent shows it again, `whet down` stops them.',
          { type: 'Up.GoesOn' },
        );
      await down(settings, out);
      throw new CliError('Interrupted before the services were ready; they are stopped.', { type: 'Up.Interrupted' });
    }
    const state = await askSupervisor(settings.home);
    if (state === null)
      throw new CliError(
        `The services were stopped while they started. Look at the logs in ${join(settings.home, 'logs')}.`,
        { type: 'Up.Failed' },
      );
    progress.show(state, (Date.now() - began) / 1000);
    const failed = state.services.filter(hasFailed);
    if (failed.length > 0) throw await startFailure(settings, out, state);
    if (!state.services.some(isWaitedFor)) return state;
    if (Date.now() - began > READY_LIMIT_MS)
      throw new CliError(
        `The services are not ready after an hour. ${state.services.filter(isWaitedFor).map(waitingText).join(' ')} ` +
          '`whet up` goes on waiting, `whet down` stops them.',
        { type: 'Up.Failed' },
      );
    await sleep(100);
  }
}

const hasFailed = (s: ServiceState) => s.status === 'failed' || (s.status === 'restarting' && s.restarts >= 3);

/** Stops everything; the error names the failed service and shows the end of its log. */
async function startFailure(settings: Settings, out: Output, { services, disk }: SupervisorState): Promise<CliError> {
  const failed = services.filter(hasFailed);
  // A service that only waited for another one is not itself a cause.
  const causes = failed.filter((s) => !s.note.startsWith('needs '));
  await down(settings, out);
  const sentences = (causes.length > 0 ? causes : failed).map(
    (s) => `The ${TITLES[s.name]} did not start: it ${s.note}. Its log ${s.log} says:\n${errorsOfLog(s.log)}`,
  );
  // On a full disk, the log ends too early to show the cause.
  return new CliError([...(disk === null ? [] : [disk]), ...sentences].join('\n'), { type: 'Up.Failed' });
}

function createProgress(out: Output): { show(state: SupervisorState, seconds: number): void } {
  const printed = new Map<string, { status: string; at: number }>();
  let addressShown = false;
  const text = (s: ServiceState, seconds: number) => {
    const waits = s.status === 'starting' ? `${duration(seconds)} ${currentStep(s)}` : s.note;
    const detail = s.status === 'ready' ? (s.url ?? '') : waits;
    return serviceRow(TITLES[s.name], s.status, detail);
  };
  return {
    show(state, seconds) {
      const { uiUrl, address } = state.temporal;
      if (!addressShown) out.line(uiUrl === null ? `Temporal: ${address} (your own server)` : `Temporal UI: ${uiUrl}`);
      addressShown = true;
      if (out.live) {
        const open = state.services.filter((s) => s.name !== 'temporal');
        out.redraw(open.map((s) => text(s, seconds)));
        return;
      }
      for (const s of state.services) {
        const last = printed.get(s.name);
        const isSlow = s.status === 'starting' && (s.name === 'model' || s.name === 'policy');
        const due = isSlow && Date.now() - (last?.at ?? 0) >= PLAIN_EVERY_MS;
        if (s.status === 'waiting' || (last?.status === s.status && !due) || (s.status === 'starting' && !isSlow))
          continue;
        printed.set(s.name, { status: s.status, at: Date.now() });
        // The embedded policy server is ready before anybody could read this.
        if (s.name === 'policy' && isSlow && last === undefined) continue;
        out.line(text(s, seconds));
      }
    },
  };
}
