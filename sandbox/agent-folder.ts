import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { isWithin, realPlace } from '../contracts/paths';

/** Folders that the jail itself uses, so that no folder of the host is mounted there. */
const TAKEN = ['/usr', '/lib', '/lib32', '/lib64', '/libx32', '/dev', '/etc', '/proc', '/sys', '/run'];

/** Folders that many programs share: if a module is in one of them, the other files are not the agent's. */
const SHARED = ['/tmp', '/var', '/var/tmp', '/opt', '/srv', '/home', '/mnt', '/media'];

/**
 * The folder of an owner's module, if the module may read it in its jail; else null. Then the module runs without its
 * folder, because its source is sent in a message.
 * @param path path of the module.
 * @returns an absolute path or null.
 */
export function readableFolder(path: string): string | null {
  if (!isAbsolute(path)) return null;
  const folder = dirname(resolve(path));
  return whyHidden(folder) === null ? folder : null;
}

/**
 * Why a jail of the agent's owner may not show a folder: it, or the target of a link, contains more than an agent (the
 * home directory, the state directory, a folder that programs share), or is in the store; or the jail's user may not
 * enter it. The end of a sentence that begins with the folder; null if it may be shown.
 * @param folder an absolute path.
 */
export function whyHidden(folder: string): string | null {
  const state = process.env['WHET_HOME'] || resolve('.whetstone');
  const store = process.env['WHET_STORE'] || join(state, 'store');
  for (const at of [folder, realPlace(folder)]) {
    if (SHARED.includes(at)) return 'belongs to many programs';
    if (TAKEN.some((place) => isWithin(at, place))) return 'belongs to the system';
    if (isWithin(at, realPlace(store))) return 'is in the store';
    if (isWithin(realPlace(homedir()), at)) return 'contains the home directory';
    const kept = [state, store].find((place) => isWithin(realPlace(place), at));
    if (kept !== undefined)
      return `contains ${kept}, where whet keeps its state: start whet in another folder, or set WHET_HOME to one`;
  }
  const closed = closedFolder(folder);
  return closed && `cannot be read by the jail's user: ${closed} is not open to it (chmod o+rx)`;
}

/** The folder of a module that runs as a plain process, or null where there is none. */
export function ownFolder(path: string): string | null {
  return isAbsolute(path) && existsSync(dirname(path)) ? dirname(path) : null;
}

/**
 * The folder on the way to one, or this itself, that the jail's user may not enter or read; null: there is none. A jail
 * that root starts has its own user, who may only enter what everybody may enter.
 */
function closedFolder(folder: string): string | null {
  let at = folder;
  try {
    if (process.getuid?.() !== 0) {
      accessSync(folder, constants.R_OK | constants.X_OK);
      return null;
    }
    for (; ; at = dirname(at)) {
      const { mode } = statSync(at);
      if ((mode & 0o001) === 0 || (at === folder && (mode & 0o004) === 0)) return at;
      if (at === dirname(at)) return null;
    }
  } catch {
    return at;
  }
}
