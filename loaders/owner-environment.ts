import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { canonicalJson } from '../contracts/artifacts/trajectory-id';
import type { PreparedSpec } from '../contracts/artifacts/prepared-spec';
import type { AgentSpec } from '../contracts/config/agent-spec';
import { isPlayable, modulePath, playedAs } from '../contracts/config/environment-kinds';
import { commandIdentity } from './command-identity';
import { loadTasks } from './agent-spec';
import { LARGEST_SOURCE_BYTES, readBounded } from './read-bounded';
import type { EnvironmentSource, OwnersCommand, ProcessSource, ProgramSource } from '../sandbox';
import type { NamedTask } from './task-lines';

/** The agent's own environment, as its owner wrote it. */
export interface OwnerEnvironment {
  source: EnvironmentSource;
  /** Ids of named tasks; the place of an id is its seed. */
  tasks?: string[];
  /** What may have changed when another hash comes out, as the end of a sentence. */
  decidedBy: string;
  /** Hash of what decides an episode. `packages`: what the process says about its packages. */
  sha256: (packages?: string) => string;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Tasks that a command printed when a run began. */
export interface PrintedTasks {
  ids: string[];
  /** Hash of their lines. */
  sha256: string;
}

/** Where a prepared spec says that the environment is: its module; without one the agent.yaml. */
export function placeOfEnvironment({ environment }: AgentSpec, specPath: string): string {
  const path = modulePath(environment);
  return path === null ? resolve(specPath) : resolve(dirname(specPath), path);
}

/**
 * Reads the environment of a run, with the tasks that it froze.
 * @throws as `ownerEnvironment`.
 */
export function environmentOfRun({ spec, environmentPath, tasks = [], printedTasks }: PreparedSpec): OwnerEnvironment {
  if (printedTasks === undefined) return ownerEnvironment(spec, environmentPath);
  return ownerEnvironment(spec, environmentPath, { ids: tasks, sha256: printedTasks.sha256 });
}

/** What a command of the agent's owner sees of the machine. Null: the environment has none. */
export function ownersCommand(spec: AgentSpec, place: string): OwnersCommand | null {
  if (!isPlayable(spec.environment)) return null;
  const played = playedAs(spec.environment);
  if ('path' in played) return null;
  const agentFolder = dirname(place);
  const { command, secrets, variables } = played;
  const folders = played.folders.map((folder) => resolve(agentFolder, folder));
  return {
    trust: 'owner',
    name: place,
    agent: spec.name,
    ...('venv' in spec.environment && {
      programFrom: {
        field: 'environment.venv',
        remedy: `\`whet env add ${spec.environment.kind}\` makes a virtual environment and prints its path.`,
      },
    }),
    launch: { command, agentFolder, folders, secrets, variables },
  };
}

/**
 * Reads the agent's own environment.
 * @param place as `placeOfEnvironment` gives it.
 * @param named its named tasks, or those that its command printed. Default: those of the file that it names.
 * @throws UnreadableFileError if its module cannot be read; AgentSpecError if its tasks cannot; NamedFilesError;
 *   TypeError if nothing plays it.
 */
export function ownerEnvironment(
  spec: AgentSpec,
  place: string,
  named: NamedTask[] | PrintedTasks | null = loadTasks(spec, dirname(place)),
): OwnerEnvironment {
  const played = playedAs(spec.environment);
  const shown = ownersCommand(spec, place);
  if ('path' in played || shown === null) {
    const source = readBounded(place, LARGEST_SOURCE_BYTES).toString('utf8');
    return {
      source: { source, trust: 'owner', name: place, agent: spec.name },
      decidedBy: `the environment ${place}`,
      sha256: () => sha256(source),
    };
  }
  const { launch, ...owner } = shown;
  const isPrinted = named !== null && 'ids' in named;
  const tasks = isPrinted ? named.ids : named?.map(({ id }) => id);
  const { kind, secrets, seconds } = played;
  const owned = { ...owner, ...(tasks !== undefined && { tasks }) };
  let source: ProcessSource | ProgramSource;
  let score: string[] = [];
  if ('processes' in played) {
    const { processes, episodesPerProcess } = played;
    source = {
      plays: played.kind,
      ...owned,
      launch: { ...launch, processes, episodesPerProcess, seconds: played.seconds },
    };
  } else {
    const { memoryPerEpisode } = played;
    score = played.score ?? [];
    const scored = { ...launch, score: played.score ?? null, memoryPerEpisode, seconds: played.seconds };
    source = { plays: played.kind, ...owned, firstSeed: spec.environment.trainSeeds.start, launch: scored };
  }
  const asksPackages = 'processes' in played;
  const identity = commandIdentity({ ...launch, score }, asksPackages);
  const decides = {
    kind,
    ...identity,
    secrets,
    seconds,
    tasks: isPrinted ? { sha256: named.sha256 } : named,
  };
  return {
    source,
    ...(tasks !== undefined && { tasks }),
    decidedBy: wordsOf(place, identity, named !== null && !isPrinted),
    sha256: (packages) => sha256(canonicalJson({ ...decides, said: packages ?? null })),
  };
}

/** Most files of a command that a sentence names. */
const NAMED_FILES = 5;

/** What may have changed of a command: one hash is kept of all of it. */
function wordsOf(place: string, { files, folders, packages }: ReturnType<typeof commandIdentity>, readsTasks: boolean) {
  const names = Object.keys(files);
  const more = names.length > NAMED_FILES ? ` and ${names.length - NAMED_FILES} more` : '';
  const listed = names.length > 0 ? ` (${names.slice(0, NAMED_FILES).join(', ')}${more})` : '';
  const also = [
    ...(readsTasks ? ['its tasks'] : []),
    ...(folders.length > 0 ? ['environment.folders'] : []),
    ...(packages.length > 0 ? ['its packages'] : []),
  ];
  return [`the files of the command in ${place}${listed}`, ...also].join(', or ');
}
