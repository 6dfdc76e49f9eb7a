import { availableParallelism, totalmem } from 'node:os';
import { bytesText } from '../../contracts/bytes-text';
import { pluralise } from '../../contracts/pluralise';
import { estimateTrainerMemory } from '../../contracts/trainer-memory';
import { readModelConfig } from '../../loaders/model-config';
import { trainedModelPath } from '../base-model';
import type { Training } from './backend';

/** Share of the machine's memory that all trainers together may need; servers and the system need the rest. */
const MEMORY_SHARE = 0.8;

/** The needs of one trainer or of several together: memory in bytes, and processor threads. */
export interface Room {
  bytes: number;
  threads: number;
}

/** An admitted trainer: its possible needs, and the trainings that watch it. */
interface Guest {
  needs: Room;
  watchers: Set<string>;
}

/**
 * Keeps trainers of one machine from exceeding its resources together. A machine without free memory comes to a
 * standstill. Threads that compete for cores are slower than one trainer after the other. A trainer that may need more
 * than everything runs alone.
 */
export class ResourceAdmission {
  private readonly guests = new Map<string, Guest>();

  /**
   * `all` is the limit for all trainers together. Default: most of the machine's memory, a thread for each usable core.
   */
  constructor(private readonly all: Room = { bytes: MEMORY_SHARE * totalmem(), threads: availableParallelism() }) {}

  /** Memory and threads that the admitted trainers may need together. */
  get taken(): Room {
    const needs = [...this.guests.values()].map((guest) => guest.needs);
    const sum = (of: keyof Room) => needs.reduce((total, one) => total + one[of], 0);
    return { bytes: sum('bytes'), threads: sum('threads') };
  }

  /**
   * Admits the trainer of a directory until its last `watcher` has left. An admitted trainer stays admitted. A trainer
   * that already `runs` is always admitted.
   * @returns null, or why the other trainers leave no room, as the end of a sentence.
   */
  enter(directory: string, watcher: string, needs: Room, { runs = false } = {}): string | null {
    const guest = this.guests.get(directory);
    if (guest !== undefined) guest.watchers.add(watcher);
    else {
      const shortage = runs || this.guests.size === 0 ? null : this.shortageFor(needs);
      if (shortage !== null) return shortage;
      this.guests.set(directory, { needs, watchers: new Set([watcher]) });
    }
    return null;
  }

  /** Ends what `enter` began. */
  leave(directory: string, watcher: string): void {
    const guest = this.guests.get(directory);
    guest?.watchers.delete(watcher);
    if (guest?.watchers.size === 0) this.guests.delete(directory);
  }

  private shortageFor(needs: Room): string | null {
    const { all, taken } = this;
    if (taken.bytes + needs.bytes > all.bytes)
      return (
        `it may need ${bytesText(needs.bytes)}, and of the ${bytesText(all.bytes)} for trainers here ` +
        `${bytesText(taken.bytes)} may be needed already (training.updateTokens lowers it)`
      );
    if (taken.threads + needs.threads > all.threads)
      return `it computes with ${pluralise(needs.threads, 'thread')}, and ${taken.threads} of ${pluralise(all.threads, 'core')} are taken`;
    return null;
  }
}

/**
 * Memory and threads that the trainer of a training may need. The members of a pack share the weights of the base
 * model. The memory is estimated from the model's config.json; without one it counts as 0. A pack computes with as many
 * threads as this process may use cores. A trial counts as no need.
 */
export function roomOfTrainer({ kind, prepared, group }: Pick<Training, 'kind' | 'prepared' | 'group'>): Room {
  if (kind === 'trial') return { bytes: 0, threads: 0 };
  const { spec } = prepared;
  const members = group.members.length;
  const memory = estimateTrainerMemory(readModelConfig(trainedModelPath(prepared)), spec, false);
  return {
    bytes: memory === null ? 0 : memory.weights + members * (memory.total - memory.weights),
    threads: Math.min(members * spec.training.threads, Math.max(spec.training.threads, availableParallelism())),
  };
}
