import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { JobMember } from '../../../k8s/job-member';
import { jobName, packName } from '../../../k8s/names';

/**
 * Those whom one trainer is started for: a training alone, or a pack (docs/kubernetes.md, Packing). Never changes once
 * it is there.
 */
export interface Crew {
  /** Key of the directory of what belongs to the trainer as a whole: its log, its process, the cluster's last words. */
  directoryKey: string;
  /** Absolute. A training alone keeps it in its own directory, a pack in its folder. */
  directory: string;
  members: readonly JobMember[];
}

/** The crew of a training alone. */
export function alone(member: JobMember): Crew {
  return { directoryKey: member.directoryKey, directory: member.directory, members: [member] };
}

export const isShared = ({ members }: Crew): boolean => members.length > 1;

/** Name of the crew's Job. */
export function crewName({ directoryKey, members }: Crew): string {
  const [only, ...others] = members;
  if (only !== undefined && others.length === 0) return jobName(only.capability, only.directoryKey);
  return packName(
    directoryKey,
    members.map((member) => member.directoryKey),
  );
}

/** The crew for people: `stamps`, or `letters, stamps and scales`. */
export function crewText({ members }: Pick<Crew, 'members'>): string {
  const names = members.map(({ capability }) => capability);
  return names.length < 2 ? (names[0] ?? 'nobody') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** The folder of a crew's marks of members who no longer need its trainer. */
export const leftFolder = (crew: Pick<Crew, 'directory'>): string => join(crew.directory, 'left');

/**
 * Whom the trainer has still to train: who has neither a manifest nor left. A training alone needs its trainer as long
 * as anybody asks.
 */
export async function stillNeeded(crew: Crew): Promise<JobMember[]> {
  if (!isShared(crew)) return [...crew.members];
  const left = new Set(await namesIn(leftFolder(crew)));
  const done = await Promise.all(crew.members.map(({ directory }) => isThere(join(directory, 'manifest.json'))));
  return crew.members.filter(({ directory }, index) => !left.has(basename(directory)) && done[index] !== true);
}

/** What lies in a folder, without what is being written; empty where there is none. */
export async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.filter((name) => !name.endsWith('.tmp'));
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
