import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { GroupMember } from '../../../k8s/group-member';
import { type ArtifactStore, createFile, layout } from '../../../store';
import { type TrainerGroup, leftFolder, fileNames } from '../trainer-group';

const ticketSchema = z.object({ capability: z.string() });
const closedSchema = z.object({ members: z.array(z.object({ capability: z.string(), training: z.string() })) });

/** Somebody who waits for the pack to be closed. */
export interface Ticket {
  capability: string;
  /** Name of the training's directory. */
  training: string;
  /** When it was made, in milliseconds since 1970 by the clock of the file system. */
  atMs: number;
}

/**
 * One pack on disk: `tickets/` while it is open, `closed.json` with the group afterwards, `left/` with those who went.
 * Every file is created once and never changed, so whoever is first decides and everybody else, on whatever worker,
 * reads the same.
 */
export class PackFolder {
  /** Absolute. */
  readonly directory: string;
  private readonly key: string;

  constructor(
    private readonly store: ArtifactStore,
    private readonly runId: string,
    packingKey: string,
    number: number,
  ) {
    this.key = layout.pack(runId, packingKey, number);
    this.directory = store.localPath(this.key);
  }

  /** Who is in the pack; null while it is open. */
  async group(): Promise<TrainerGroup | null> {
    const text = await readOrNull(join(this.directory, 'closed.json'));
    if (text === null) return null;
    const members = closedSchema.parse(JSON.parse(text)).members.map(({ capability, training }): GroupMember => {
      const directoryKey = layout.training(this.runId, training);
      return { capability, directoryKey, directory: this.store.localPath(directoryKey) };
    });
    return { directoryKey: this.key, directory: this.directory, members };
  }

  /** Takes a ticket; a second time it is the same one. */
  async join({ capability, directory }: GroupMember): Promise<void> {
    await createFile(join(this.directory, 'tickets', basename(directory)), `${JSON.stringify({ capability })}\n`);
  }

  async hasTicket({ directory }: GroupMember): Promise<boolean> {
    return (await fileNames(join(this.directory, 'tickets'))).includes(basename(directory));
  }

  /** Who waits, the first one first; without those who have left. */
  async waiting(): Promise<Ticket[]> {
    const folder = join(this.directory, 'tickets');
    const left = new Set(await fileNames(leftFolder(this)));
    const names = (await fileNames(folder)).filter((name) => !left.has(name));
    const tickets = await Promise.all(
      names.map(async (training) => {
        const path = join(folder, training);
        return {
          ...ticketSchema.parse(JSON.parse(await readFile(path, 'utf8'))),
          training,
          atMs: (await stat(path)).mtimeMs,
        };
      }),
    );
    return tickets.sort((a, b) => a.atMs - b.atMs || (a.training < b.training ? -1 : 1));
  }

  /** Closes the pack with these, unless somebody else has closed it. */
  async close(tickets: readonly Ticket[]): Promise<void> {
    const members = tickets
      .map(({ capability, training }) => ({ capability, training }))
      .sort((a, b) => (a.training < b.training ? -1 : 1));
    await createFile(join(this.directory, 'closed.json'), `${JSON.stringify({ members }, null, 2)}\n`);
  }

  /** Marks that a training no longer needs this pack's trainer. `why` is for people who read the folder. */
  async leave({ directory }: GroupMember, why: string): Promise<void> {
    await createFile(join(leftFolder(this), basename(directory)), `${why}\n`);
  }

  async hasLeft({ directory }: GroupMember): Promise<boolean> {
    return (await fileNames(leftFolder(this))).includes(basename(directory));
  }
}

async function readOrNull(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}
