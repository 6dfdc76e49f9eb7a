// tier: integration
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../../../gateway/log';
import { AdapterCheck } from '../../../gateway/upstream/adapter-check';
import { modelDirectorySha256 } from '../../../store/model-hash';
import * as readFiles from '../../../store/read-files';

jest.mock('../../../store/model-hash', () => {
  const actual = jest.requireActual<typeof import('../../../store/model-hash')>('../../../store/model-hash');
  return { ...actual, modelDirectorySha256: jest.fn(actual.modelDirectorySha256) };
});
jest.mock('../../../store/read-files', () => {
  const actual = jest.requireActual<typeof readFiles>('../../../store/read-files');
  return { ...actual, fileSha256: jest.fn(actual.fileSha256) };
});
const hashing = jest.mocked(modelDirectorySha256);
const reading = jest.mocked(readFiles.fileSha256);

describe('AdapterCheck', () => {
  const path = mkdtempSync(join(tmpdir(), 'whet-adapter-'));
  const logged: string[] = [];
  const note = (_fields: unknown, words: string) => void logged.push(words);
  const log = { error: note } as unknown as Log;
  let check: AdapterCheck;
  let adapter: { name: string; path: string; sha256: string };
  beforeEach(async () => {
    writeFileSync(join(path, 'adapter_config.json'), '{"r": 4}');
    adapter = { name: 'weigh@1', path, sha256: await modelDirectorySha256(path) };
    check = new AdapterCheck(log);
    logged.length = 0;
    hashing.mockClear();
    reading.mockClear();
  });
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  const isUnchanged = async () => (await check.unchanged([adapter])).length === 1;

  it.each(['EMFILE', 'EACCES', 'EIO', 'ESTALE'])(
    'keeps its verdict while the files cannot be read: %s',
    async (code) => {
      const fails = () => hashing.mockRejectedValueOnce(Object.assign(new Error(code), { code }));
      fails();
      expect(await isUnchanged()).toBe(true);
      fails();
      expect(await isUnchanged()).toBe(true);
      expect(logged).toEqual([expect.stringContaining('cannot be read')]);
      writeFileSync(join(path, 'adapter_config.json'), '{"r": 8}');
      expect(await isUnchanged()).toBe(false);
      fails();
      expect(await isUnchanged()).toBe(false);
      expect(logged).toHaveLength(3);
      writeFileSync(join(path, 'adapter_config.json'), '{"r": 4}');
      expect(await isUnchanged()).toBe(true);
    },
  );

  it('leaves a folder that is not there to the model server', async () => {
    adapter = { ...adapter, path: join(path, 'nowhere') };
    expect([await isUnchanged(), logged]).toEqual([true, []]);
  });

  it('reads once for all that ask at the same time', async () => {
    const other = { ...adapter, sha256: 'b'.repeat(64) };
    const found = await Promise.all([check.unchanged([adapter]), check.unchanged([adapter, other])]);
    expect([found, hashing.mock.calls.length]).toEqual([[[adapter], [adapter]], 2]);
  });

  it('reads a file once, also where the clock of its server is ahead', async () => {
    const now = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
    expect([await isUnchanged(), await isUnchanged(), reading.mock.calls.length]).toEqual([true, true, 1]);
    now.mockRestore();
  });
});
