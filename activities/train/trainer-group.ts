import { basename, join } from 'node:path';
import type { GroupMember } from '../../k8s/group-member';
import { jobName, packName } from '../../k8s/names';
import { exists, fileNames } from './files';

/**
 * The trainings for which one trainer is started: a single one, or the members of a pack
 * (docs/explanations/packing.md). It never changes after its creation.
 */
export interface TrainerGroup {
  /** Key of the group's directory in the store: for a single training its own directory, else the pack's folder. */
  directoryKey: string;
  /** Absolute path of that directory. It holds the trainer's log, its process and the cluster's last report. */
  directory: string;
  members: readonly GroupMember[];
}

/** The group of a training that shares its trainer with no other. */
export function groupOfOne(member: GroupMember): TrainerGroup {
  return { directoryKey: member.directoryKey, directory: member.directory, members: [member] };
}

/** Whether several trainings share the group's trainer. */
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

/** The members' names for people: `stamps`, or `letters, stamps and scales`. */
export function memberNames({ members }: Pick<TrainerGroup, 'members'>): string {
  const names = members.map(({ capability }) => capability);
  return names.length < 2 ? (names[0] ?? 'nobody') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** Folder `left` of a pack. It has a file for each member that no longer needs the pack's trainer. */
export const leftFolder = (group: Pick<TrainerGroup, 'directory'>): string => join(group.directory, 'left');

/** Whether the training in a directory has left its pack. */
export const hasLeft = async (group: Pick<TrainerGroup, 'directory'>, directory: string): Promise<boolean> =>
  (await fileNames(leftFolder(group))).includes(basename(directory));

/**
 * The members that the trainer still has to train: they have no manifest and have not left. The member of a single
 * training's group always counts.
 */
export async function remainingMembers(group: TrainerGroup): Promise<GroupMember[]> {
  if (!isShared(group)) return [...group.members];
  const left = new Set(await fileNames(leftFolder(group)));
  const done = await Promise.all(group.members.map(({ directory }) => exists(join(directory, 'manifest.json'))));
  return group.members.filter(({ directory }, index) => !left.has(basename(directory)) && done[index] !== true);
}
