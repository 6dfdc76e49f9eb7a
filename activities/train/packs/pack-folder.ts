import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { GroupMember } from '../../../k8s/group-member';
import { type ArtifactStore, createFile, layout } from '../../../store';
import { fileNames, readJsonFile } from '../files';
import { leftFolder, type TrainerGroup } from '../trainer-group';

const ticketSchema = z.object({ capability: z.string() });
const closedSchema = z.object({ members: z.array(z.object({ capability: z.string(), training: z.string() })) });

/** A training's request to join a pack. */
interface Ticket {
  capability: string;
  /** Name of the training's directory. */
  training: string;
  /** Creation time of the ticket, in milliseconds since 1970 by the file system's clock. */
  atMs: number;
}

/**
 * The files of one pack. `tickets/` has a file for each training that wants to join. `closed.json` lists the members
 * once they are decided. `left/` has a file for each member that no longer needs the trainer. Every file is created
 * once and never changed. So the first writer decides, and all workers read the same.
 */
export class PackFolder {
  /** Absolute path. */
  readonly directory: string;
  private readonly key: string;

  /** The `number`th pack, counted from 1, of the run's trainings with this packing key. */
  constructor(
    private readonly store: ArtifactStore,
    private readonly runId: string,
    packingKey: string,
    number: number,
  ) {
    this.key = layout.pack(runId, packingKey, number);
    this.directory = store.localPath(this.key);
  }

  /** Reads the members of the pack; null while it is open. */
  async group(): Promise<TrainerGroup | null> {
    const closed = await readJsonFile(join(this.directory, 'closed.json'), closedSchema);
    if (closed === null) return null;
    const members = closed.members.map(({ capability, training }): GroupMember => {
      const directoryKey = layout.training(this.runId, training);
      return { capability, directoryKey, directory: this.store.localPath(directoryKey) };
    });
    return { directoryKey: this.key, directory: this.directory, members };
  }

  /** Creates the training's ticket, if it does not have one. */
  async createTicket({ capability, directory }: GroupMember): Promise<void> {
    await createFile(join(this.directory, 'tickets', basename(directory)), `${JSON.stringify({ capability })}\n`);
  }

  /** Whether the training has a ticket. */
  async hasTicket({ directory }: GroupMember): Promise<boolean> {
    return (await fileNames(join(this.directory, 'tickets'))).includes(basename(directory));
  }

  /** Reads the tickets, oldest first, without tickets of trainings that have left. */
  async tickets(): Promise<Ticket[]> {
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

  /** Closes the pack: the trainings of these tickets are its members. Does nothing if it is already closed. */
  async close(tickets: readonly Ticket[]): Promise<void> {
    const members = tickets
      .map(({ capability, training }) => ({ capability, training }))
      .sort((a, b) => (a.training < b.training ? -1 : 1));
    await createFile(join(this.directory, 'closed.json'), `${JSON.stringify({ members }, null, 2)}\n`);
  }

  /** Marks that a training no longer needs this pack's trainer. `why` is for people who read the folder. */
  async markLeft({ directory }: GroupMember, why: string): Promise<void> {
    await createFile(join(leftFolder(this), basename(directory)), `${why}\n`);
  }
}
