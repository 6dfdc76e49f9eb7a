import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredDocument } from './artifact-store';
import { StoreConflictError, StoreCorruptError } from './errors';
import { onDisk } from './file-errors';
import { isInCluster, makeFolder, syncFolder } from './folders';
import { layout } from './layout';
import { isMissing, orIfMissing, readWholeFile } from './read-files';
import { writeNewFile } from './whole-files';

/** A document `x.json` is in the folder `x.json.versions`. */
const FOLDER_SUFFIX = '.versions';

/**
 * `00000007-<16 hex of the content's sha256>-<12 random hex>`: because of the random part, each write makes another
 * version.
 */
const VERSION = /^(\d{8,})-([0-9a-f]{16})-[0-9a-f]{12}$/;

/** How long a reader tries again while writers are faster, before it reports the document as damaged. */
const READ_PATIENCE_MS = 2_000;

const sha256Start = (data: Uint8Array) => createHash('sha256').update(data).digest('hex').slice(0, 16);
const headName = (version: string) => `head-${version}`;
const contentName = (version: string) => `content-${version}.json`;

/**
 * Documents in a local directory, changed without locks (docs/adr/0012-documents-without-locks.md). A document's folder
 * has one entry `head-<version>`, whose name says which content file is valid. A change writes a new content file and
 * then renames the head. A head with a given name never exists twice. So exactly one writer succeeds, even if writers
 * were stopped for a long time before.
 */
export class LocalDocuments {
  /** @param pathOf returns the absolute path of a key. */
  constructor(private readonly pathOf: (key: string) => string) {}

  /** See `ArtifactStore.readDocument`. */
  read(key: string): Promise<StoredDocument | null> {
    return onDisk(this.pathOf(key), this.readNow(key));
  }

  /** See `ArtifactStore.swapDocument`. */
  swap(key: string, value: unknown, expected: string | null): Promise<string> {
    const data = Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
    return onDisk(this.pathOf(key), expected === null ? this.create(key, data) : this.replace(key, data, expected));
  }

  private async readNow(key: string): Promise<StoredDocument | null> {
    const folder = this.folderOf(key);
    const until = Date.now() + READ_PATIENCE_MS;
    for (let look = 0; ; look++) {
      const names = await orIfMissing(readdir(folder), null);
      if (names === null) return null;
      const version = currentVersion(names);
      const path = version === null ? null : join(folder, contentName(version));
      const data = path === null ? null : await orIfMissing(readWholeFile(path), null);
      if (version !== null && data !== null) return this.parse(key, version, data, names);
      // Either a writer renamed the head while the folder was listed, or it has removed the content since.
      if (Date.now() > until) throw this.damaged(key, version, names, version === null ? 'no head' : 'missing');
      await sleep(Math.random() * Math.min(100, 2 ** look));
    }
  }

  private parse(key: string, version: string, data: Buffer, names: readonly string[]): StoredDocument {
    if (VERSION.exec(version)?.[2] !== sha256Start(data)) throw this.damaged(key, version, names, 'changed');
    return { value: JSON.parse(data.toString('utf8')) as unknown, version };
  }

  /**
   * Creates the document: the whole folder is prepared under another name and renamed, which fails if the folder
   * already exists.
   */
  private async create(key: string, data: Buffer): Promise<string> {
    const folder = this.folderOf(key);
    if ((await orIfMissing(stat(folder), null)) !== null) throw conflict(key);
    const version = newVersion(1, data);
    const aside = `${folder}.${randomBytes(6).toString('hex')}.tmp`;
    await makeFolder(dirname(folder));
    try {
      await mkdir(aside);
      await writeNewFile(join(aside, contentName(version)), data, modeOf(key));
      await writeNewFile(join(aside, headName(version)), '');
      await syncFolder(aside);
      await rename(aside, folder);
    } catch (error) {
      await rm(aside, { recursive: true, force: true }).catch(() => undefined);
      const { code } = error as NodeJS.ErrnoException;
      throw code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOENT' ? conflict(key) : error;
    }
    await syncFolder(dirname(folder));
    await this.removeAsides(folder);
    return version;
  }

  /** Removes the files of writers that were killed while they created the folder. */
  private async removeAsides(folder: string): Promise<void> {
    const names = await readdir(dirname(folder)).catch((): string[] => []);
    const asides = names.filter((name) => name.startsWith(`${basename(folder)}.`) && name.endsWith('.tmp'));
    const paths = asides.map((name) => join(dirname(folder), name));
    await Promise.all(paths.map((path) => rm(path, { recursive: true, force: true }).catch(() => undefined)));
  }

  private async replace(key: string, data: Buffer, expected: string): Promise<string> {
    const folder = this.folderOf(key);
    const number = VERSION.exec(expected)?.[1];
    if (number === undefined) throw conflict(key);
    const version = newVersion(Number(number) + 1, data);
    try {
      await writeNewFile(join(folder, contentName(version)), data, modeOf(key));
      await rename(join(folder, headName(expected)), join(folder, headName(version)));
    } catch (error) {
      // A network file system may repeat a rename that has already succeeded, and then finds no source.
      const isDone =
        isMissing(error) && (await orIfMissing<string[], string[]>(readdir(folder), [])).includes(headName(version));
      if (!isDone) {
        await rm(join(folder, contentName(version)), { force: true }).catch(() => undefined);
        throw isMissing(error) ? conflict(key) : error;
      }
    }
    await syncFolder(folder);
    await this.removeOld(key, version, expected);
    return version;
  }

  /**
   * Removes the contents that are no longer valid, including those of killed writers. The content before the current
   * one stays, so that a damaged document can be restored. Higher numbers belong to writers that have read this
   * version.
   */
  private async removeOld(key: string, version: string, before: string): Promise<void> {
    const folder = this.folderOf(key);
    const highest = numberOf(contentName(version), 'content-') as number;
    const names = await readdir(folder).catch((): string[] => []);
    const old = names.filter((name) => {
      const number = numberOf(name, 'content-');
      return number !== null && number <= highest && name !== contentName(version) && name !== contentName(before);
    });
    // If a content cannot be removed now, the next change removes it.
    await Promise.all(old.map((name) => rm(join(folder, name), { force: true }).catch(() => undefined)));
  }

  private folderOf(key: string): string {
    return this.pathOf(key) + FOLDER_SUFFIX;
  }

  private damaged(
    key: string,
    version: string | null,
    names: readonly string[],
    what: 'no head' | 'missing' | 'changed',
  ): StoreCorruptError {
    const folder = this.folderOf(key);
    const others = names
      .filter((name) => numberOf(name, 'content-') !== null && (version === null || name !== contentName(version)))
      .sort();
    const before = others.at(-1)?.slice('content-'.length, -'.json'.length);
    const problem =
      version === null
        ? `${folder} has no entry head-...`
        : `${join(folder, contentName(version))} is ${what === 'missing' ? 'missing' : 'not what was written'}`;
    const head = version === null ? null : join(folder, headName(version));
    const setBack = before === undefined ? null : join(folder, headName(before));
    const remedy =
      setBack === null
        ? `Restore it from a backup, or remove ${folder} to begin the document anew.`
        : `Restore it from a backup, or go back to the version before: ` +
          (head === null ? `touch '${setBack}'` : `mv '${head}' '${setBack}'`);
    return new StoreCorruptError(`Document ${key} is damaged: ${problem}. ${remedy}`);
  }
}

/** The key of the document in a folder of this name; null for every other name. */
export const documentOfFolder = (name: string): string | null =>
  name.endsWith(FOLDER_SUFFIX) ? name.slice(0, -FOLDER_SUFFIX.length) : null;

/** The highest version among the heads. During the rename of the head, a listing may show both names or neither. */
function currentVersion(names: readonly string[]): string | null {
  let [highest, version] = [-1, null as string | null];
  for (const name of names) {
    const number = numberOf(name, 'head-');
    if (number !== null && number > highest) [highest, version] = [number, name.slice('head-'.length)];
  }
  return version;
}

function numberOf(name: string, prefix: 'head-' | 'content-'): number | null {
  if (!name.startsWith(prefix)) return null;
  const number = VERSION.exec(name.slice(prefix.length).replace(/\.json$/, ''))?.[1];
  return number === undefined ? null : Number(number);
}

/** A secret is for its owner; in a cluster for the group of the pods, which share a claim. */
const modeOf = (key: string): number | undefined =>
  key === layout.redactionSecret ? (isInCluster() ? 0o640 : 0o600) : undefined;

const newVersion = (number: number, data: Uint8Array): string =>
  `${String(number).padStart(8, '0')}-${sha256Start(data)}-${randomBytes(6).toString('hex')}`;

const conflict = (key: string) =>
  new StoreConflictError(`Document ${key} was changed by somebody else: read it again and repeat the change.`);
