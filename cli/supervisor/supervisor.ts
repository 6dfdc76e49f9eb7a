import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ManagedService } from './managed-service';
import type { Plan } from './plan';
import { endProcesses, findProcess, processesOfInstance } from './processes';
import { type Service, services } from './services';
import {
  removeSupervisorState,
  type ServiceName,
  type SupervisorState,
  writeSupervisorState,
} from './supervisor-state';
import { ensureSearchAttributes } from './temporal-setup';

/** Time in which a worker's trainers write a checkpoint, and Temporal closes its database. */
const GRACE_MS = 15_000;
const STOP_ORDER: ServiceName[] = ['worker', 'gateway', 'model', 'policy', 'analyst', 'temporal'];
/** Attempts at the namespace: a new server answers before its namespace exists. */
const SETUP_TRIES = 20;

interface Part {
  service: Service;
  managed: ManagedService;
}

/**
 * Starts the services of a plan and keeps them running, with their state in `<home>/supervisor.json`, until `signal`
 * aborts. Then stops them, the worker first and Temporal last, and removes the state.
 */
export async function supervise(plan: Plan, signal: AbortSignal): Promise<void> {
  mkdirSync(plan.logs, { recursive: true });
  const parts = new Map<ServiceName, Part>();
  const state = initialState(plan);
  const save = () => writeSupervisorState(plan.home, state);
  const modelDirectory = () =>
    plan.model?.source.kind === 'directory'
      ? plan.model.source.path
      : modelPath(parts.get('model')?.managed.result ?? null);
  for (const service of services(plan, modelDirectory)) {
    parts.set(service.name, {
      service,
      managed: new ManagedService(service, join(plan.logs, `${service.name}.log`), save),
    });
  }
  state.services = [...parts.values()].map(({ managed }) => managed.state);
  save();

  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  const running = [...parts.values()].map((part) => startInTurn(part, parts, plan, signal));
  await aborted;
  for (const name of STOP_ORDER) await parts.get(name)?.managed.stop(GRACE_MS);
  await Promise.all(running);
  // Processes that services left behind, such as a trainer whose worker was killed.
  await endProcesses(processesOfInstance(plan.instance), GRACE_MS);
  removeSupervisorState(plan.home);
}

/** Starts a service when those it needs are ready, and keeps it running until it is stopped. */
async function startInTurn(
  { service, managed }: Part,
  parts: ReadonlyMap<ServiceName, Part>,
  plan: Plan,
  signal: AbortSignal,
): Promise<void> {
  for (const need of service.needs) {
    const other = parts.get(need);
    if (other !== undefined && !(await other.managed.settled())) {
      if (!signal.aborted) managed.block(`needs ${need}, which ${other.managed.state.note || 'did not start'}`);
      return;
    }
  }
  try {
    if (service.name === 'worker') await setUpNamespace(plan.temporal, signal);
  } catch (error) {
    managed.block(
      `the search attributes could not be registered at ${plan.temporal.address}: ${(error as Error).message}`,
    );
    return;
  }
  await managed.run();
}

async function setUpNamespace(temporal: Plan['temporal'], signal: AbortSignal): Promise<void> {
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      return await ensureSearchAttributes(temporal);
    } catch (error) {
      if (attempt >= SETUP_TRIES) throw error;
      await sleep(500);
    }
  }
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
    temporal: { address, namespace, uiUrl: start === null ? null : `http://127.0.0.1:${start.uiPort}` },
    services: [],
  };
}

/** The directory that a recipe's last line of output names: JSON with `path`. */
function modelPath(result: string | null): string | null {
  if (result === null) return null;
  const { path } = JSON.parse(result) as { path?: unknown };
  if (typeof path !== 'string') throw new Error(`The model's recipe ended with ${result}, which names no path.`);
  return path;
}
