// Tier: unit (a store in a temporary folder, a clock of its own).
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Clock } from '../../../../activities/clock';
import { groupJobName, remainingMembers, type TrainerGroup } from '../../../../activities/train/trainer-group';
import { type PackMembershipOptions, PackMembership } from '../../../../activities/train/packs/pack-membership';
import { recordPackFailure, readPackFailure } from '../../../../activities/train/packs/failure-files';
import { layout, LocalStore } from '../../../../store';

const NEVER = new AbortController().signal;
/** For trainings that no other joins. */
const SHORT = { waitMs: 10_000 };

describe('membership in a pack', () => {
  let folder: string;
  let store: LocalStore;
  let clock: Clock & { slept: number };
  let said: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'whet-packs-'));
    store = new LocalStore(folder);
    said = [];
    // Its time passes only while somebody sleeps.
    clock = {
      slept: 0,
      now: () => clock.slept,
      async sleep(ms) {
        clock.slept += ms;
        await new Promise(setImmediate);
      },
    };
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const memberOf = (capability: string) => {
    const directoryKey = layout.training('run-1', `${capability}-0123`);
    const directory = store.localPath(directoryKey);
    mkdirSync(directory, { recursive: true });
    return { capability, directoryKey, directory };
  };
  const membership = (capability: string, changes: Partial<PackMembershipOptions> = {}) =>
    new PackMembership({
      store,
      clock,
      runId: 'run-1',
      packingKey: 'g',
      maxMembers: 2,
      waitMs: 3_600_000,
      waitsForOthers: true,
      member: memberOf(capability),
      isTraining: async () => false,
      reportWait: async (message) => void said.push(message),
      ...changes,
    });
  const names = ({ members }: TrainerGroup) => members.map(({ capability }) => capability);
  const packFolder = (number: number) => store.localPath(layout.pack('run-1', 'g', number));

  test('all trainings in time get the same group, on every attempt', async () => {
    const [a, b] = await Promise.all([membership('b').join(NEVER), membership('a').join(NEVER)]);
    expect(names(a)).toEqual(['a', 'b']);
    expect(b).toEqual(a);
    expect(await membership('a').join(NEVER)).toEqual(a);
    expect(basename(a.directory)).toBe('g-1');
    expect(groupJobName(a)).toMatch(/^whet-pack-[0-9a-f]{12}$/);
  });

  test('the wait ends by this machine’s clock when the file system’s is ahead', async () => {
    const waiting = membership('a', SHORT).join(NEVER);
    const ticket = join(packFolder(1), 'tickets', 'a-0123');
    while (!existsSync(ticket)) await new Promise(setImmediate);
    utimesSync(ticket, new Date(), new Date(Date.now() + 86_400_000));
    expect(names(await waiting)).toEqual(['a']);
    expect(clock.slept).toBeGreaterThanOrEqual(10_000);
  });

  test('a second attempt does not wait anew', async () => {
    const folderOfTicket = join(packFolder(1), 'tickets');
    mkdirSync(folderOfTicket, { recursive: true });
    writeFileSync(join(folderOfTicket, 'a-0123'), '{"capability": "a"}');
    utimesSync(join(folderOfTicket, 'a-0123'), new Date(), new Date(Date.now() - 11_000));
    expect(names(await membership('a', SHORT).join(NEVER))).toEqual(['a']);
    expect(clock.slept).toBe(0);
  });

  test('the first tickets count when there are more than members fit', async () => {
    const tickets = join(packFolder(1), 'tickets');
    mkdirSync(tickets, { recursive: true });
    for (const [index, name] of ['c', 'b', 'a'].entries()) {
      writeFileSync(join(tickets, `${name}-0123`), JSON.stringify({ capability: name }));
      utimesSync(join(tickets, `${name}-0123`), new Date(), new Date(Date.now() - 5_000 + index * 1_000));
    }
    expect(names(await membership('c').join(NEVER))).toEqual(['b', 'c']);
    // Too late for the first, alone in the second.
    expect((await membership('a', SHORT).join(NEVER)).directory).toBe(memberOf('a').directory);
  });

  test('a training that does not wait joins those that wait already', async () => {
    const first = membership('a').join(NEVER);
    while (said.length === 0) await new Promise(setImmediate);
    expect(names(await membership('mixed', { waitsForOthers: false }).join(NEVER))).toEqual(['a', 'mixed']);
    expect(names(await first)).toEqual(['a', 'mixed']);
    expect(names(await membership('late', { waitsForOthers: false }).join(NEVER))).toEqual(['late']);
  });

  test('other packing keys have other packs', async () => {
    const groups = await Promise.all([
      membership('a', SHORT).join(NEVER),
      membership('b', { ...SHORT, packingKey: 'other' }).join(NEVER),
    ]);
    expect(groups.map(names)).toEqual([['a'], ['b']]);
  });

  test('a member that leaves does not remain; the last one to leave gets the group, to stop its trainer', async () => {
    const [a, b] = [membership('a'), membership('b')];
    const [group] = await Promise.all([a.join(NEVER), b.join(NEVER)]);
    expect(await a.leave('it diverged')).toBeNull();
    expect(names({ ...group, members: await remainingMembers(group) })).toEqual(['b']);
    expect(readFileSync(join(group.directory, 'left', 'a-0123'), 'utf8')).toBe('it diverged\n');
    expect(existsSync(join(memberOf('a').directory, 'cancel'))).toBe(true);
    expect(await b.leave('cancelled')).toEqual(group);
  });

  test('a training that comes back after it left waits until its trainer has dropped it, then starts afresh', async () => {
    const a = membership('a');
    await Promise.all([a.join(NEVER), membership('b').join(NEVER)]);
    await a.leave('its time was over');
    let looks = 0;
    const group = await membership('a', { isTraining: async () => ++looks < 3 }).join(NEVER);
    expect(looks).toBe(3);
    expect(said).toContain('waits for the end of its iteration in the trainer that it shared before');
    expect(group.directory).toBe(memberOf('a').directory);
    expect(existsSync(join(memberOf('a').directory, 'cancel'))).toBe(false);

    const b = membership('b');
    await b.join(NEVER);
    await b.leave('it diverged');
    writeFileSync(join(memberOf('b').directory, 'failure.json'), '{"code": 66, "message": "not finite"}');
    await membership('b', { isTraining: async () => true }).join(NEVER);
    expect(existsSync(join(memberOf('b').directory, 'failure.json'))).toBe(false);
  });

  test('a training that leaves while it waits makes room for others', async () => {
    const a = membership('a', { reportWait: () => Promise.reject(new Error('enough')) });
    await expect(a.join(NEVER)).rejects.toThrow('enough');
    expect(await a.leave('cancelled')).toBeNull();
    const [b] = await Promise.all([membership('b').join(NEVER), membership('c').join(NEVER)]);
    expect(names(b)).toEqual(['b', 'c']);
    expect(names(await membership('a').join(NEVER))).toEqual(['a']);
  });

  test('the first recorded failure of a pack counts for all its members', async () => {
    const [group] = await Promise.all([membership('a').join(NEVER), membership('b').join(NEVER)]);
    expect(await readPackFailure(group)).toBeNull();
    await recordPackFailure(group, { type: 'Trainer.OutOfMemory', message: 'too large' });
    await recordPackFailure(group, { type: 'Trainer.Stalled', message: 'later' });
    expect(await readPackFailure(group)).toEqual({ type: 'Trainer.OutOfMemory', message: 'too large' });
  });
});
