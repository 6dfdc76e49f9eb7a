import type { GroupMember } from '../../../k8s/group-member';
import type { ArtifactStore } from '../../../store';
import type { Clock } from '../../clock';
import { groupOfOne, hasLeft, isShared, remainingMembers, type TrainerGroup } from '../trainer-group';
import { clearMemberFiles, readTrainingFailure, requestCancel } from './failure-files';
import { PackFolder } from './pack-folder';

const POLL_MS = 500;

/** The data and callbacks that a training needs to join a pack. */
export interface PackMembershipOptions {
  store: ArtifactStore;
  clock: Clock;
  runId: string;
  /** It is equal for trainings that may share a trainer; see `packingKey`. */
  packingKey: string;
  maxMembers: number;
  /** How long the first training of a pack waits for others, in milliseconds. */
  waitMs: number;
  /** False: the training joins others that already wait, but does not wait itself. */
  waitsForOthers: boolean;
  member: GroupMember;
  /** Whether the trainer of this group still works on the training. */
  isTraining: (group: TrainerGroup) => Promise<boolean>;
  /** Called about twice a second while the training waits, with the reason. */
  reportWait: (waitsFor: string) => Promise<void>;
}

/**
 * The membership of one training in its run's packs (docs/explanations/packing.md). Its whole state is on disk, so
 * another attempt can continue.
 */
export class PackMembership {
  private pack: PackFolder | null = null;

  constructor(private readonly options: PackMembershipOptions) {}

  /**
   * Finds the trainer group of the training. If an earlier attempt joined a pack, its group is returned. Otherwise the
   * training takes a ticket of the first open pack and waits until that pack is closed. A pack is closed when it is
   * full, or when its first ticket has waited long enough. A training that has left a pack does not wait again: it
   * starts with those that already wait, or alone.
   * @throws the signal's reason when the signal fires. The ticket remains for the next attempt.
   */
  async join(signal: AbortSignal): Promise<TrainerGroup> {
    const { member } = this.options;
    let leftPack: PackFolder | null = null;
    for (let number = 1; ; number += 1) {
      const pack = this.folder(number);
      if (await hasLeft(pack, member.directory)) {
        leftPack = pack;
        continue;
      }
      let group = await pack.group();
      if (group === null) {
        this.pack = pack;
        if (!(await pack.hasTicket(member))) {
          await this.waitUntilDropped((await leftPack?.group()) ?? null, signal);
          // The ticket comes last, because another worker that sees it may start the trainer.
          await clearMemberFiles(member.directory);
          await pack.createTicket(member);
        }
        group = await this.waitUntilClosed(pack, this.options.waitsForOthers && leftPack === null, signal);
      }
      if (isMember(group, member)) {
        this.pack = pack;
        return isShared(group) ? group : groupOfOne(member);
      }
    }
  }

  /**
   * Removes the training from its pack, because it failed for good or nobody waits for it. A shared trainer drops it
   * after the iteration, and later starts omit it.
   * @returns the group if no member needs its trainer any more, so that the caller can stop it; else null.
   */
  async leave(why: string): Promise<TrainerGroup | null> {
    const { member } = this.options;
    if (this.pack === null) return null;
    const before = await this.pack.group();
    if (before !== null && !isShared(before)) return groupOfOne(member);
    await this.pack.markLeft(member, why);
    await requestCancel(member.directory);
    // The group is read after the mark. So if two members leave at once, at least one of them sees that both have left.
    const group = await this.pack.group();
    return group !== null && isMember(group, member) && isShared(group) && (await remainingMembers(group)).length === 0
      ? group
      : null;
  }

  private folder(number: number): PackFolder {
    const { store, runId, packingKey } = this.options;
    return new PackFolder(store, runId, packingKey, number);
  }

  /** Waits until the pack is closed, and closes it when it is full or its time is over. */
  private async waitUntilClosed(pack: PackFolder, waitsForOthers: boolean, signal: AbortSignal): Promise<TrainerGroup> {
    const { clock, maxMembers, waitMs, reportWait } = this.options;
    const startMs = clock.now();
    for (;;) {
      const group = await pack.group();
      if (group !== null) return group;
      const tickets = await pack.tickets();
      // The time counts from the ticket's file time, so that a later attempt does not wait again. It also counts from
      // here, so that a wrong clock cannot make the training wait for ever.
      const waitedMs = Math.max(Date.now() - (tickets[0]?.atMs ?? 0), clock.now() - startMs);
      const startsAlone = tickets.length === 1 && !waitsForOthers;
      if (tickets.length >= maxMembers || waitedMs >= waitMs || startsAlone) {
        await pack.close(tickets.slice(0, maxMembers));
        continue;
      }
      const left = `${Math.ceil((waitMs - waitedMs) / 1_000)} s left`;
      await reportWait(
        `waits for up to ${maxMembers} trainings to share a trainer, ${tickets.length} of ${maxMembers} there, ${left}`,
      );
      await clock.sleep(Math.min(POLL_MS, waitMs - waitedMs), signal);
    }
  }

  /**
   * Waits until the trainer of a pack has dropped the training, which has left that pack. Two trainers cannot use the
   * training's directory at once: the second would find it locked.
   */
  private async waitUntilDropped(group: TrainerGroup | null, signal: AbortSignal): Promise<void> {
    const { clock, member, isTraining, reportWait } = this.options;
    if (group === null || !isMember(group, member)) return;
    while ((await readTrainingFailure(member.directory)) === null && (await isTraining(group))) {
      await reportWait('waits for the end of its iteration in the trainer that it shared before');
      await clock.sleep(POLL_MS, signal);
    }
  }
}

function isMember({ members }: TrainerGroup, { directoryKey }: GroupMember): boolean {
  return members.some((member) => member.directoryKey === directoryKey);
}
