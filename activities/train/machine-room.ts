import { totalmem } from 'node:os';
import { readModelConfig } from '../../loaders/model-config';
import { estimateTrainerMemory } from '../../contracts/trainer-memory';
import type { Training } from './backend';

/** Share of the machine's memory that trainers may need together: servers and the system need some as well. */
const ROOM_SHARE = 0.8;

/** A trainer that has room: what it may need, and the trainings that watch it. */
interface Guest {
  bytes: number;
  watchers: Set<string>;
}

/**
 * Keeps trainers of one machine from needing more memory together than there is: without room for its pages a machine
 * comes to a standstill. A trainer that may need more than all of it runs alone.
 */
export class MemoryRoom {
  private readonly guests = new Map<string, Guest>();

  /** `bytes`: what trainers may need together. Default: most of the machine's memory. */
  constructor(readonly bytes: number = ROOM_SHARE * totalmem()) {}

  /** What the trainers that have room may need together, in bytes. */
  get taken(): number {
    return [...this.guests.values()].reduce((sum, guest) => sum + guest.bytes, 0);
  }

  /**
   * Gives room to the trainer of a directory, for as long as a `watcher` has not left. One that has room keeps it, and
   * one that `runs` already gets it in any case.
   * @returns false where the trainers that have room leave too little.
   */
  enter(directory: string, watcher: string, bytes: number, { runs = false } = {}): boolean {
    const guest = this.guests.get(directory);
    if (guest !== undefined) guest.watchers.add(watcher);
    else if (!runs && this.guests.size > 0 && this.taken + bytes > this.bytes) return false;
    else this.guests.set(directory, { bytes, watchers: new Set([watcher]) });
    return true;
  }

  /** Ends what `enter` began. */
  leave(directory: string, watcher: string): void {
    const guest = this.guests.get(directory);
    guest?.watchers.delete(watcher);
    if (guest?.watchers.size === 0) this.guests.delete(directory);
  }
}

/**
 * Most memory that the trainer of a training may need, in bytes; 0 where the base model's config.json does not tell.
 * The members of a pack share the weights.
 */
export function memoryOfTrainer({ kind, prepared, group }: Pick<Training, 'kind' | 'prepared' | 'group'>): number {
  if (kind === 'trial') return 0;
  const memory = estimateTrainerMemory(readModelConfig(prepared.modelPath), prepared.spec, false);
  return memory === null ? 0 : memory.weights + group.members.length * (memory.total - memory.weights);
}
