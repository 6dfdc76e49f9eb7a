import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { canonicalJson } from '../contracts/artifacts/trajectory-id';
import type { AgentSpec } from '../contracts/config/agent-spec';
import { playedAs } from '../contracts/config/environment-kinds';
import { commandIdentity } from './command-identity';
import { loadTasks } from './agent-spec';
import { LARGEST_SOURCE_BYTES, readBounded } from './read-bounded';
import type { EnvironmentSource, ProcessSource, ProgramSource } from '../sandbox';
import type { NamedTask } from './task-file';

/** The agent's own environment, as its owner wrote it. */
export interface OwnerEnvironment {
  source: EnvironmentSource;
  /** Ids of named tasks; the place of an id is its seed. */
  tasks?: string[];
  /** Hash of what decides an episode. `packages`: what the process says about its packages. */
  sha256: (packages?: string) => string;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Where a prepared spec says that the environment is: its module; without one the agent.yaml. */
export function placeOfEnvironment({ environment }: AgentSpec, specPath: string): string {
  const played = playedAs(environment);
  return 'path' in played ? resolve(dirname(specPath), played.path) : resolve(specPath);
}

/**
 * Reads the agent's own environment.
 * @param place as `placeOfEnvironment` gives it.
 * @param named its named tasks. Default: those of the file that it names.
 * @throws UnreadableFileError if its module cannot be read; AgentSpecError if its tasks cannot; NamedFilesError.
 */
export function ownerEnvironment(
  spec: AgentSpec,
  place: string,
  named: NamedTask[] | null = loadTasks(spec, dirname(place)),
): OwnerEnvironment {
  const played = playedAs(spec.environment);
  const agent = spec.name;
  if ('path' in played) {
    const source = readBounded(place, LARGEST_SOURCE_BYTES).toString('utf8');
    return { source: { source, trust: 'owner', name: place, agent }, sha256: () => sha256(source) };
  }
  const agentFolder = dirname(place);
  const tasks = named?.map(({ id }) => id);
  const folders = played.folders.map((folder) => resolve(agentFolder, folder));
  const { kind, command, secrets, variables, seconds } = played;
  const launch = { command, agentFolder, folders, secrets, variables };
  const owned = { trust: 'owner', name: place, agent, ...(tasks !== undefined && { tasks }) } as const;
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
  const decides = {
    kind,
    ...commandIdentity({ command, score, variables, agentFolder, folders }, asksPackages),
    secrets,
    seconds,
    tasks: named,
  };
  return {
    source,
    ...(tasks !== undefined && { tasks }),
    sha256: (packages) => sha256(canonicalJson({ ...decides, said: packages ?? null })),
  };
}
