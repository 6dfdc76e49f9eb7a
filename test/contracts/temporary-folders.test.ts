// tier: integration (real processes)
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { findProcess } from '../../contracts/running-process';
import { makeTemporaryFolder, removeLeftFolders } from '../../contracts/temporary-folders';

let place: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'whet-left-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(place, { recursive: true });
});

const namespace = (): string => /\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0];

function start(words: string[], more: Record<string, string> = {}): ChildProcess {
  const child = spawn(words[0]!, words.slice(1), { stdio: 'ignore', env: { ...process.env, ...more } });
  children.push(child);
  return child;
}

/** A folder of a process that has been killed. */
async function leftFolder(purpose = 'whet-episode'): Promise<string> {
  const owner = start(['sleep', '1000']);
  const { pid, startTicks } = findProcess(owner.pid!)!;
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  const folder = join(place, `${purpose}-${namespace()}-${pid}-${startTicks}-AbC123`);
  mkdirSync(folder);
  return folder;
}

test.each(['whet-episode', 'whetstone-pipes'])(
  'a folder %s of a killed process is removed with all in it',
  async (purpose) => {
    const folder = await leftFolder(purpose);
    mkdirSync(join(folder, 'a', 'b'), { recursive: true });
    writeFileSync(join(folder, 'a', 'b', 'file'), '');
    expect(await removeLeftFolders(place)).toEqual([folder]);
    expect(existsSync(folder)).toBe(false);
  },
);

test('links in it are removed, not what they lead to', async () => {
  const folder = await leftFolder();
  const kept = join(place, 'kept');
  writeFileSync(kept, 'here');
  mkdirSync(join(place, 'others'));
  writeFileSync(join(place, 'others', 'file'), 'here');
  symlinkSync(kept, join(folder, 'to-file'));
  symlinkSync(join(place, 'others'), join(folder, 'to-folder'));
  await removeLeftFolders(place);
  expect(existsSync(folder)).toBe(false);
  expect([kept, join(place, 'others', 'file')].map((path) => readFileSync(path, 'utf8'))).toEqual(['here', 'here']);
});

test('a program that still runs with it is killed, with the children that it started', async () => {
  const folder = await leftFolder();
  const program = start(['sh', '-c', 'sleep 1000 & echo $! > "$RESULT_FILE"; wait'], {
    RESULT_FILE: join(folder, 'result.json'),
  });
  const ended = once(program, 'exit');
  const read = () => (existsSync(join(folder, 'result.json')) ? readFileSync(join(folder, 'result.json'), 'utf8') : '');
  while (!read().endsWith('\n')) await new Promise((resolve) => setTimeout(resolve, 10));
  const child = Number(read());
  const stranger = start(['sleep', '1000'], { RESULT_FILE: join(`${folder}2`, 'result.json') });
  await removeLeftFolders(place);
  await ended;
  expect(findProcess(child)).toBeNull();
  expect(findProcess(stranger.pid!)).not.toBeNull();
});

describe('stays', () => {
  test('the folder of a process that runs', async () => {
    const own = await makeTemporaryFolder('whet-episode', place);
    expect(await removeLeftFolders(place)).toEqual([]);
    expect(existsSync(own)).toBe(true);
  });

  test('the folder of a process in another container, whose number means another one here', async () => {
    const folder = await leftFolder();
    const foreign = folder.replace(`-${namespace()}-`, '-4026539999-');
    mkdirSync(foreign);
    expect(await removeLeftFolders(place)).toEqual([folder]);
    expect(existsSync(foreign)).toBe(true);
  });

  test('a link of such a name, and what it leads to', async () => {
    const folder = await leftFolder();
    rmSync(folder, { recursive: true });
    const target = join(place, 'target');
    mkdirSync(target);
    symlinkSync(target, folder);
    expect(await removeLeftFolders(place)).toEqual([]);
    expect(existsSync(target)).toBe(true);
  });

  test.each([
    ['whet-episode-AbC123'],
    ['whet-episode-1-2-AbC123'],
    ['other-1-2-3-AbC123'],
    ['whet-episode-1-2-3-AbC123x'],
  ])('%s, which has no such name', async (name) => {
    mkdirSync(join(place, name));
    expect(await removeLeftFolders(place)).toEqual([]);
  });

  (process.getuid?.() === 0 ? test : test.skip)('the folder of another user, but not that of a jail', async () => {
    const folder = await leftFolder();
    chownSync(folder, 65_534, 65_534);
    expect(await removeLeftFolders(place)).toEqual([]);
    const profile = JSON.parse(readFileSync(join(__dirname, '..', '..', 'sandbox', 'profile.json'), 'utf8')) as {
      uids: { first: number; count: number };
    };
    const { first, count } = profile.uids;
    for (const uid of [first - 1, first + count]) {
      chownSync(folder, uid, uid);
      expect(await removeLeftFolders(place)).toEqual([]);
    }
    chownSync(folder, first + count - 1, first);
    expect((await removeLeftFolders(place)).map((path) => basename(path))).toEqual([basename(folder)]);
  });
});
