import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isMissing } from '../../store';
import { isRunning, type ProcessId } from './processes';

/** Services of `whet up`. `model` is the recipe that makes the base model: it runs once and ends. */
export type ServiceName = 'temporal' | 'analyst' | 'model' | 'policy' | 'gateway' | 'worker';

/** What the supervisor knows of a service. */
export interface ServiceState {
  name: ServiceName;
  /** waiting: for another service. done: ran once and ended well. failed: is not started again by itself. */
  status: 'waiting' | 'starting' | 'ready' | 'restarting' | 'done' | 'failed' | 'stopped';
  process: ProcessId | null;
  restarts: number;
  url: string | null;
  log: string;
  /** Why it is not ready, or what it waits for. */
  note: string;
}

/** What one `whet up` started. The supervisor keeps it up to date in `<home>/supervisor.json`. */
export interface SupervisorState {
  /** Marks all processes of this `whet up`. */
  instance: string;
  supervisor: ProcessId;
  startedAt: string;
  /** Absolute path of the agent.yaml whose model is served; null when no agent was given. */
  agentPath: string | null;
  /** Seed of the model that its recipe made; null when it has no recipe. */
  modelSeed: number | null;
  temporal: { address: string; namespace: string; uiUrl: string | null };
  services: ServiceState[];
}

const statePath = (home: string) => join(home, 'supervisor.json');

/** The last state that a supervisor wrote here, whether it still runs or not; null when there is no state. */
export function readSupervisorState(home: string): SupervisorState | null {
  try {
    return JSON.parse(readFileSync(statePath(home), 'utf8')) as SupervisorState;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** The state of the supervisor that runs here; null when none runs. */
export function readRunningSupervisorState(home: string): SupervisorState | null {
  const state = readSupervisorState(home);
  return state !== null && isRunning(state.supervisor) ? state : null;
}

/** Writes the state in one step: a reader sees the old one or the new one. */
export function writeSupervisorState(home: string, state: SupervisorState): void {
  const path = statePath(home);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.tmp`, `${JSON.stringify(state, null, 2)}\n`);
  renameSync(`${path}.tmp`, path);
}

/** Removes the state, if there is one: nothing is up any more. */
export function removeSupervisorState(home: string): void {
  rmSync(statePath(home), { force: true });
}
