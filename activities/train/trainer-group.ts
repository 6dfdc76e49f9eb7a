import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { GroupMember } from '../../k8s/group-member';
import { jobName, packName } from '../../k8s/names';

/**
 * Those whom one trainer is started for: a training alone, or a pack (docs/kubernetes.md, Packing). Never changes once
 * it is there.
 */
export interface TrainerGroup {
  /** Key of the directory of what belongs to the trainer as a whole: its log, its process, the cluster's last words. */
  directoryKey: string;
  /** Absolute. A training alone keeps it in its own directory, a pack in its folder. */
  directory: string;
  members: readonly GroupMember[];
}

/** The group of a training alone. */
export function groupOfOne(member: GroupMember): TrainerGroup {
  return { directoryKey: member.directoryKey, directory: member.directory, members: [member] };
}

export const isShared = ({ members }: TrainerGroup): boolean => members.length > 1;

/** Name of the group's Job. */
export function groupJobName({ directoryKey, members }: TrainerGroup): string {
  const [only, ...others] = members;
  if (only !== undefined && others.length === 0) return jobName(only.capability, only.directoryKey);
  return packName(
    directoryKey,
    members.map((member) => member.directoryKey),
  );
}

/** The group for people: `stamps`, or `letters, stamps and scales`. */
export function memberNames({ members }: Pick<TrainerGroup, 'members'>): string {
  const names = members.map(({ capability }) => capability);
  return names.length < 2 ? (names[0] ?? 'nobody') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** The folder of a group's marks of members who no longer need its trainer. */
export const leftFolder = (group: Pick<TrainerGroup, 'directory'>): string => join(group.directory, 'left');

/**
 * Whom the trainer has still to train: who has neither a manifest nor left. A training alone needs its trainer as long
 * as anybody asks.
 */
export async function remainingMembers(group: TrainerGroup): Promise<GroupMember[]> {
  if (!isShared(group)) return [...group.members];
  const left = new Set(await fileNames(leftFolder(group)));
  const done = await Promise.all(group.members.map(({ directory }) => isThere(join(directory, 'manifest.json'))));
  return group.members.filter(({ directory }, index) => !left.has(basename(directory)) && done[index] !== true);
}

/** What lies in a folder, without what is being written; empty where there is none. */
export async function fileNames(folder: string): Promise<string[]> {
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
