// Tier: unit (a store in a temporary folder, a clock of its own).
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Clock } from '../../../../activities/clock';
import { groupJobName, remainingMembers, type TrainerGroup } from '../../../../activities/train/trainer-group';
import { type PackMembershipOptions, PackMembership } from '../../../../activities/train/packs/pack-membership';
import { recordPackFailure, readPackFailure } from '../../../../activities/train/packs/pack-failure';
import { layout, LocalStore } from '../../../../store';

const NEVER = new AbortController().signal;
/** For those whom nobody joins. */
const SHORT = { waitMs: 10_000 };

describe('a place in a pack', () => {
  let folder: string;
  let store: LocalStore;
  let clock: Clock & { slept: number };
  let said: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'whet-packs-'));
    store = new LocalStore(folder);
    said = [];
    // Its time goes by only while somebody sleeps.
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
  const place = (capability: string, changes: Partial<PackMembershipOptions> = {}) =>
    new PackMembership({
      store,
      clock,
      runId: 'run-1',
      packingKey: 'g',
      most: 2,
      waitMs: 3_600_000,
      waits: true,
      member: memberOf(capability),
      isTraining: async () => false,
      say: async (message) => void said.push(message),
      ...changes,
    });
  const names = ({ members }: TrainerGroup) => members.map(({ capability }) => capability);
  const packFolder = (number: number) => store.localPath(layout.pack('run-1', 'g', number));

  test('all who are in time have the same group, whoever asks and how often', async () => {
    const [a, b] = await Promise.all([place('b').take(NEVER), place('a').take(NEVER)]);
    expect(names(a)).toEqual(['a', 'b']);
    expect(b).toEqual(a);
    expect(await place('a').take(NEVER)).toEqual(a);
    expect(basename(a.directory)).toBe('g-1');
    expect(groupJobName(a)).toMatch(/^whet-pack-[0-9a-f]{12}$/);
  });

  test('its own clock ends the wait when that of the files is ahead', async () => {
    const waiting = place('a', SHORT).take(NEVER);
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
    expect(names(await place('a', SHORT).take(NEVER))).toEqual(['a']);
    expect(clock.slept).toBe(0);
  });

  test('the first ones are in when there are more tickets than places', async () => {
    const tickets = join(packFolder(1), 'tickets');
    mkdirSync(tickets, { recursive: true });
    for (const [index, name] of ['c', 'b', 'a'].entries()) {
      writeFileSync(join(tickets, `${name}-0123`), JSON.stringify({ capability: name }));
      utimesSync(join(tickets, `${name}-0123`), new Date(), new Date(Date.now() - 5_000 + index * 1_000));
    }
    expect(names(await place('c').take(NEVER))).toEqual(['b', 'c']);
    // Too late for the first, alone in the second.
    expect((await place('a', SHORT).take(NEVER)).directory).toBe(memberOf('a').directory);
  });

  test('who waits for nobody joins those who wait already', async () => {
    const first = place('a').take(NEVER);
    while (said.length === 0) await new Promise(setImmediate);
    expect(names(await place('mixed', { waits: false }).take(NEVER))).toEqual(['a', 'mixed']);
    expect(names(await first)).toEqual(['a', 'mixed']);
    expect(names(await place('late', { waits: false }).take(NEVER))).toEqual(['late']);
  });

  test('other groups have other packs', async () => {
    const groups = await Promise.all([
      place('a', SHORT).take(NEVER),
      place('b', { ...SHORT, packingKey: 'other' }).take(NEVER),
    ]);
    expect(groups.map(names)).toEqual([['a'], ['b']]);
  });

  test('who leaves is not needed; the last one learns that the trainer is nobody’s any more', async () => {
    const [a, b] = [place('a'), place('b')];
    const [group] = await Promise.all([a.take(NEVER), b.take(NEVER)]);
    expect(await a.leave('it diverged')).toBeNull();
    expect(names({ ...group, members: await remainingMembers(group) })).toEqual(['b']);
    expect(readFileSync(join(group.directory, 'left', 'a-0123'), 'utf8')).toBe('it diverged\n');
    expect(existsSync(join(memberOf('a').directory, 'cancel'))).toBe(true);
    expect(await b.leave('cancelled')).toEqual(group);
  });

  test('who comes back after it left waits until its trainer has noticed, then forgets what that one said', async () => {
    const a = place('a');
    await Promise.all([a.take(NEVER), place('b').take(NEVER)]);
    await a.leave('its time was over');
    let looks = 0;
    const group = await place('a', { isTraining: async () => ++looks < 3 }).take(NEVER);
    expect(looks).toBe(3);
    expect(said).toContain('waits for the end of its iteration in the trainer that it shared before');
    expect(group.directory).toBe(memberOf('a').directory);
    expect(existsSync(join(memberOf('a').directory, 'cancel'))).toBe(false);

    const b = place('b');
    await b.take(NEVER);
    await b.leave('it diverged');
    writeFileSync(join(memberOf('b').directory, 'failure.json'), '{"code": 66, "message": "not finite"}');
    await place('b', { isTraining: async () => true }).take(NEVER);
    expect(existsSync(join(memberOf('b').directory, 'failure.json'))).toBe(false);
  });

  test('who leaves while it waits gives its place to others', async () => {
    const a = place('a', { say: () => Promise.reject(new Error('enough')) });
    await expect(a.take(NEVER)).rejects.toThrow('enough');
    expect(await a.leave('cancelled')).toBeNull();
    const [b] = await Promise.all([place('b').take(NEVER), place('c').take(NEVER)]);
    expect(names(b)).toEqual(['b', 'c']);
    expect(names(await place('a').take(NEVER))).toEqual(['a']);
  });

  test('the first verdict on a trainer counts for all', async () => {
    const [group] = await Promise.all([place('a').take(NEVER), place('b').take(NEVER)]);
    expect(await readPackFailure(group)).toBeNull();
    await recordPackFailure(group, { type: 'Trainer.OutOfMemory', message: 'too large' });
    await recordPackFailure(group, { type: 'Trainer.Stalled', message: 'later' });
    expect(await readPackFailure(group)).toEqual({ type: 'Trainer.OutOfMemory', message: 'too large' });
  });
});
