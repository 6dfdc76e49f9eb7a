import type { GroupMember } from '../../../k8s/group-member';
import type { ArtifactStore } from '../../../store';
import type { Clock } from '../../clock';
import { groupOfOne, type TrainerGroup, isShared, remainingMembers } from '../trainer-group';
import { requestCancel, clearMemberFiles, readTrainingFailure } from './member-files';
import { PackFolder } from './pack-folder';

const POLL_MS = 500;

/** One training's way into a pack. */
export interface PackMembershipOptions {
  store: ArtifactStore;
  clock: Clock;
  runId: string;
  /** The same for trainings that one trainer can train: what they have in common, hashed. */
  packingKey: string;
  /** Most trainings in a pack. */
  most: number;
  /** Longest wait of a pack's first training for the others, in milliseconds. */
  waitMs: number;
  /** False: it joins those who wait already, and waits for nobody itself. */
  waits: boolean;
  member: GroupMember;
  /** Whether the group's trainer is still at work on this training. */
  isTraining: (group: TrainerGroup) => Promise<boolean>;
  /** Told what it waits for, about twice a second. */
  say: (waitsFor: string) => Promise<void>;
}

/** The place of one training in the packs of its run. Nothing is kept in memory that another attempt would need. */
export class PackMembership {
  private pack: PackFolder | null = null;

  constructor(private readonly options: PackMembershipOptions) {}

  /**
   * The group that the training belongs to: that of an attempt before, else of a new pack, which it waits for. A pack is
   * closed when it is full, or when its first ticket has waited long enough; a training that comes later opens the next
   * one. One that has left a pack is started again at once: with those who wait at that moment, else alone.
   * @throws the signal's reason when it is aborted; the ticket stays, for the next attempt.
   */
  async take(signal: AbortSignal): Promise<TrainerGroup> {
    const { member } = this.options;
    let before: PackFolder | null = null;
    for (let number = 1; ; number += 1) {
      const pack = this.folder(number);
      if (await pack.hasLeft(member)) {
        before = pack;
        continue;
      }
      let group = await pack.group();
      if (group === null) {
        this.pack = pack;
        if (!(await pack.hasTicket(member))) {
          await this.letGo((await before?.group()) ?? null, signal);
          // The ticket comes last: whoever sees it may start the trainer.
          await clearMemberFiles(member.directory);
          await pack.join(member);
        }
        group = await this.closed(pack, this.options.waits && before === null, signal);
      }
      if (isIn(group, member)) {
        this.pack = pack;
        return isShared(group) ? group : groupOfOne(member);
      }
    }
  }

  /**
   * Gives the place up: for a failure that only a person can cure, or because nobody waits for the training any more. A
   * trainer that it shares leaves it out, now or when it is started again.
   * @returns the group that nobody needs any more now, so that its trainer can be ended; null: others need it, or there
   *   is none.
   */
  async leave(why: string): Promise<TrainerGroup | null> {
    const { member } = this.options;
    if (this.pack === null) return null;
    const before = await this.pack.group();
    if (before !== null && !isShared(before)) return groupOfOne(member);
    await this.pack.leave(member, why);
    await requestCancel(member.directory);
    // Read after the mark was made: of two who leave at once, at least the second sees both.
    const group = await this.pack.group();
    return group !== null && isIn(group, member) && isShared(group) && (await remainingMembers(group)).length === 0
      ? group
      : null;
  }

  private folder(number: number): PackFolder {
    const { store, runId, packingKey } = this.options;
    return new PackFolder(store, runId, packingKey, number);
  }

  /** Waits until the pack is closed, and closes it when it is time. */
  private async closed(pack: PackFolder, waits: boolean, signal: AbortSignal): Promise<TrainerGroup> {
    const { clock, most, waitMs, say } = this.options;
    const startMs = clock.now();
    for (;;) {
      const group = await pack.group();
      if (group !== null) return group;
      const waiting = await pack.waiting();
      // By the file system's clock, so that a later attempt does not wait anew; by its own too, so that no clock can
      // make it wait for ever.
      const waitedMs = Math.max(Date.now() - (waiting[0]?.atMs ?? 0), clock.now() - startMs);
      const isAlone = waiting.length === 1 && !waits;
      if (waiting.length >= most || waitedMs >= waitMs || isAlone) {
        await pack.close(waiting.slice(0, most));
        continue;
      }
      await say(
        `waits for up to ${most} trainings to share a trainer, ${waiting.length} of ${most} there, ${Math.ceil((waitMs - waitedMs) / 1_000)} s left`,
      );
      await clock.sleep(Math.min(POLL_MS, waitMs - waitedMs), signal);
    }
  }

  /**
   * Waits until the trainer of a group that the training has left has noticed it: two trainers in one directory would
   * stop each other.
   */
  private async letGo(group: TrainerGroup | null, signal: AbortSignal): Promise<void> {
    const { clock, member, isTraining, say } = this.options;
    if (group === null || !isIn(group, member)) return;
    while ((await readTrainingFailure(member.directory)) === null && (await isTraining(group))) {
      await say('waits for the end of its iteration in the trainer that it shared before');
      await clock.sleep(POLL_MS, signal);
    }
  }
}

function isIn({ members }: TrainerGroup, { directoryKey }: GroupMember): boolean {
  return members.some((member) => member.directoryKey === directoryKey);
}
