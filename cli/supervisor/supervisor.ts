import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CliError } from '../errors';
import { holderOf, tryLock } from './kernel-lock';
import { ManagedService } from './managed-service';
import type { Plan } from './plan';
import { endProcesses, findProcess, processesOfInstance } from './processes';
import { type Service, services } from './services';
import { servicesAnalyst } from './services-analyst';
import { StateKeeper } from './state-keeper';
import { askSupervisor, type ServiceName, supervisorLock, type SupervisorState } from './supervisor-state';

/** Time for a worker's trainers to write a checkpoint, and for Temporal to close its database. */
const GRACE_MS = 15_000;
const STOP_ORDER: ServiceName[] = ['worker', 'gateway', 'model', 'policy', 'analyst', 'temporal'];

interface Part {
  service: Service;
  managed: ManagedService;
}

/**
 * Starts the services of a plan and keeps them running, with their state in `<home>/supervisor.json`, until `signal`
 * fires. Then stops them, the worker first and Temporal last, and removes the state. If a state or a log cannot be
 * written, nothing ends.
 * @throws CliError if another supervisor runs for this state directory.
 */
export async function supervise(plan: Plan, signal: AbortSignal): Promise<void> {
  mkdirSync(plan.logs, { recursive: true });
  const parts = new Map<ServiceName, Part>();
  const state = initialState(plan);
  const lock = await tryLock(supervisorLock(plan.home), () => JSON.stringify(state));
  if (lock === null) throw new CliError(await whoSupervises(plan.home), { type: 'Up.AlreadyUp' });
  const keeper = new StateKeeper(plan, state);
  const modelDirectory = () =>
    plan.model?.source.kind === 'directory'
      ? plan.model.source.path
      : modelPath(parts.get('model')?.managed.result ?? null);
  for (const service of services(plan, modelDirectory)) {
    parts.set(service.name, {
      service,
      managed: new ManagedService(service, join(plan.logs, `${service.name}.log`), () => keeper.save()),
    });
  }
  state.services = [...parts.values()].map(({ managed }) => managed.state);
  keeper.start();

  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  const running = [...parts.values()].map((part) => startInTurn(part, parts, signal));
  await aborted;
  for (const name of STOP_ORDER) await parts.get(name)?.managed.stop(GRACE_MS);
  await Promise.all(running);
  // Ends processes that services left behind, such as a trainer whose worker was killed.
  await endProcesses(processesOfInstance(plan.instance), GRACE_MS);
  keeper.end();
  await lock.release();
}

async function whoSupervises(home: string): Promise<string> {
  const pid = (await askSupervisor(home))?.supervisor.pid ?? holderOf(supervisorLock(home))?.pid;
  return `A supervisor${pid === undefined ? '' : ` (process ${pid})`} runs for ${home} already. Stop it with \`whet down\`.`;
}

/** Starts a service when the services that it needs are ready, and keeps it running until it is stopped. */
async function startInTurn(
  { service, managed }: Part,
  parts: ReadonlyMap<ServiceName, Part>,
  signal: AbortSignal,
): Promise<void> {
  for (const need of service.needs) {
    const other = parts.get(need);
    if (other !== undefined && !(await other.managed.settled())) {
      if (!signal.aborted) managed.block(`needs ${need}, which ${other.managed.state.note || 'did not start'}`);
      return;
    }
  }
  await managed.run();
}

function initialState(plan: Plan): SupervisorState {
  const supervisor = findProcess(process.pid);
  if (supervisor === null) throw new Error('The supervisor does not find its own process in /proc: it needs Linux.');
  const { address, namespace, start } = plan.temporal;
  return {
    instance: plan.instance,
    supervisor,
    startedAt: new Date().toISOString(),
    agentPath: plan.agentPath,
    modelSeed: plan.model?.source.kind === 'recipe' ? plan.model.source.seed : null,
    analyst: servicesAnalyst(plan.analyst),
    temporal: { address, namespace, uiUrl: start === null ? null : `http://127.0.0.1:${start.uiPort}` },
    services: [],
    disk: null,
  };
}

/** The directory in a recipe's last line of output: JSON with `path`. */
function modelPath(result: string | null): string | null {
  if (result === null) return null;
  const { path } = JSON.parse(result) as { path?: unknown };
  if (typeof path !== 'string') throw new Error(`The model's recipe ended with ${result}, which names no path.`);
  return path;
}
