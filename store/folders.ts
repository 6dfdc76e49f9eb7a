import { access, chmod, mkdir, open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What file systems say that cannot write a folder's entries at once, such as those over SMB or in user space. */
const NOT_FOR_FOLDERS = ['EINVAL', 'ENOTSUP'];

/**
 * Writes a folder's entries to the disk, where the file system can do that. Otherwise a power cut could undo a rename
 * that was already reported.
 */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch (error) {
    if (!NOT_FOR_FOLDERS.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await folder.close();
  }
}

/** Writes a folder with all files in it to the disk. */
export async function syncTree(path: string): Promise<void> {
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true }))
    // The same call writes a file's bytes.
    if (entry.isFile() || entry.isDirectory()) await syncFolder(join(entry.parentPath, entry.name));
  await syncFolder(path);
}

/**
 * Creates a folder and its parents. Returns the first created folder; undefined if all existed. On a read-only disk,
 * Node's own recursive call reports a missing file (ENOENT). So the folders are tried again one by one for the real
 * error.
 */
export async function makeFolders(path: string): Promise<string | undefined> {
  try {
    return await mkdir(path, { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const missing = [path];
    while (await isMissing(dirname(missing[0]!))) missing.unshift(dirname(missing[0]!));
    for (const folder of missing)
      await mkdir(folder).catch((precise: NodeJS.ErrnoException) => {
        if (precise.code !== 'EEXIST') throw precise;
      });
    return missing[0];
  }
}

const isMissing = (path: string): Promise<boolean> =>
  access(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT' && dirname(path) !== path,
  );

/**
 * Makes a folder that only its owner may enter, so that nothing in it can be read by other users of the machine. A
 * folder of somebody else is left as it is, and in a cluster a claim belongs to the group of the pods.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  await makeFolder(path);
  if (isInCluster()) return;
  await chmod(path, 0o700).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPERM' && error.code !== 'EROFS') throw error;
  });
}

/** Whether this process runs in a pod. */
export const isInCluster = (): boolean => Boolean(process.env['KUBERNETES_SERVICE_HOST']);

/** Makes a folder and those above it, so that they outlast a power cut. */
export async function makeFolder(path: string): Promise<void> {
  const first = await makeFolders(path);
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}
