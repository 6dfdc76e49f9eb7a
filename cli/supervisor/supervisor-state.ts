import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { readBounded, UnreadableFileError } from '../../loaders/read-bounded';
import { askHolder, holderOf, lockAddress } from './kernel-lock';
import { isRunning } from './processes';
import { servicesAnalystSchema } from './services-analyst';

const processIdSchema = z.object({ pid: z.int().positive(), startTicks: z.number() });

const serviceStateSchema = z.object({
  /** `model` is the recipe that makes the base model: it runs once and ends. */
  name: z.enum(['temporal', 'analyst', 'model', 'policy', 'gateway', 'worker']),
  /** waiting: for another service. done: ran once and succeeded. failed: is not restarted automatically. */
  status: z.enum(['waiting', 'starting', 'ready', 'restarting', 'done', 'failed', 'stopped']),
  process: processIdSchema.nullable(),
  restarts: z.number(),
  url: z.string().nullable(),
  log: z.string(),
  /** Why it is not ready, or why it waits. */
  note: z.string(),
});

const supervisorStateSchema = z.object({
  /** It marks all processes of this `whet up`. */
  instance: z.string().min(1),
  supervisor: processIdSchema,
  startedAt: z.string(),
  /** Absolute path of the agent.yaml whose model is served; null if no agent was given. */
  agentPath: z.string().nullable(),
  /** Seed of the model that its recipe made; null if it has no recipe. */
  modelSeed: z.number().nullable(),
  /** Absent: a version that did not write it started them. */
  analyst: servicesAnalystSchema.optional(),
  temporal: z.object({ address: z.string(), namespace: z.string(), uiUrl: z.string().nullable() }),
  services: z.array(serviceStateSchema),
  /** The problem of the disk of the state directory or of the store; null if it is writable. */
  disk: z.string().nullable(),
});

/** The supervisor's view of a service. */
export type ServiceState = z.infer<typeof serviceStateSchema>;
/** A service of `whet up`. */
export type ServiceName = ServiceState['name'];
/** The services that one `whet up` started. The supervisor keeps its list up to date in `<home>/supervisor.json`. */
export type SupervisorState = z.infer<typeof supervisorStateSchema>;

/** Address of the supervisor's lock, which answers with its state. */
export const supervisorLock = (home: string): string => lockAddress('supervisor', home);

/** Far more than a state with every service needs. */
const LARGEST_BYTES = 1_000_000;

const statePath = (home: string) => join(home, 'supervisor.json');

/** What `<home>/supervisor.json` holds. */
export type KeptState =
  | { kind: 'state'; state: SupervisorState }
  /** There is no file: nothing was started, or everything was stopped. */
  | { kind: 'none' }
  /** The file was torn by a crash, or written by another version. */
  | { kind: 'damaged'; path: string; reason: string };

/** Reads the last state that a supervisor wrote here, whether or not it still runs. @throws if it may not be read. */
export function readKeptState(home: string): KeptState {
  const path = statePath(home);
  let text: string;
  try {
    text = readBounded(path, LARGEST_BYTES).toString('utf8');
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    if (error.cause !== undefined) throw error.cause;
    return error.isMissing ? { kind: 'none' } : { kind: 'damaged', path, reason: error.sentence.replace(/\.$/, '') };
  }
  const state = parseState(text);
  if (state !== null) return { kind: 'state', state };
  return { kind: 'damaged', path, reason: text.trim() === '' ? 'it is empty' : 'it is not a whole state document' };
}

/** Like `readKeptState`, but a missing or damaged file counts as no state. */
export function readSupervisorState(home: string): SupervisorState | null {
  const kept = readKeptState(home);
  return kept.kind === 'state' ? kept.state : null;
}

function parseState(text: string): SupervisorState | null {
  try {
    return supervisorStateSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** The state in the file, if its supervisor is running; else null. `askSupervisor` knows more. */
export function readRunningSupervisorState(home: string): SupervisorState | null {
  const state = readSupervisorState(home);
  return state !== null && isRunning(state.supervisor) ? state : null;
}

/**
 * The state of the supervisor that runs here; null if none runs. The supervisor itself answers, so it does not matter
 * if the file is missing, damaged or outdated. The file is used if the supervisor does not answer (it is stopped).
 */
export async function askSupervisor(home: string): Promise<SupervisorState | null> {
  const address = supervisorLock(home);
  const answer = await askHolder(address);
  const state = answer === null ? null : parseState(answer);
  // Any user of the machine may listen at an abstract socket, and `whet down` ends the processes that a state names. So
  // the holder must be this supervisor.
  if (state !== null && state.supervisor.pid === holderOf(address)?.pid) return state;
  return readRunningSupervisorState(home);
}

/** Writes the state in one step: a reader sees either the old or the new state. @throws the system's error. */
export function writeSupervisorState(home: string, state: SupervisorState): void {
  const path = statePath(home);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.tmp`, stateText(state));
  renameSync(`${path}.tmp`, path);
}

const stateText = (state: SupervisorState): string => `${JSON.stringify(state, null, 2)}\n`;

/** Whether the file contains exactly this state. */
export function isStateKept(home: string, state: SupervisorState): boolean {
  try {
    return readBounded(statePath(home), LARGEST_BYTES).toString('utf8') === stateText(state);
  } catch {
    return false;
  }
}

/** Removes the state, if there is one, because no service is up any more. */
export function removeSupervisorState(home: string): void {
  rmSync(statePath(home), { force: true });
}
