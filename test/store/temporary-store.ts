import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalStore } from '../../store';

/** A store in a folder of its own, which is removed after the tests of the file. */
export function temporaryStore(): { folder: string; store: LocalStore } {
  const folder = mkdtempSync(join(tmpdir(), 'whet-store-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, store: new LocalStore(folder) };
}
