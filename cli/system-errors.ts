import { StoreCorruptError, StoreKeyError } from '../store';
import { CliError } from './errors';

/** For each error code: why the system refused a call, and what to do. */
const REFUSALS: Record<string, { what: string; todo: string; type: 'State.DiskFull' | 'State.NotAllowed' }> = {
  ENOSPC: { what: 'the disk is full', todo: 'Free space on it, then run the command again.', type: 'State.DiskFull' },
  EDQUOT: {
    what: 'the disk quota of this user is used up',
    todo: 'Free space on it, then run the command again.',
    type: 'State.DiskFull',
  },
  EROFS: {
    what: 'the disk is read-only',
    todo: 'Make it writable, or set WHET_HOME (and WHET_STORE) to a directory that is.',
    type: 'State.NotAllowed',
  },
  EACCES: {
    what: 'this user may not do that',
    todo: 'Run the command as the user whose directory it is, or set WHET_HOME (and WHET_STORE) to one of your own.',
    type: 'State.NotAllowed',
  },
  EPERM: {
    what: 'this user may not do that',
    todo: 'Run the command as the user whose directory or process it is, or set WHET_HOME to one of your own.',
    type: 'State.NotAllowed',
  },
  ENOTDIR: {
    what: 'a part of the path is a file, not a directory',
    todo: 'Move that file away, or set WHET_HOME (and WHET_STORE) to another directory.',
    type: 'State.NotAllowed',
  },
  ELOOP: {
    what: 'its links lead in a circle',
    todo: 'Move the link away, then run the command again.',
    type: 'State.NotAllowed',
  },
  ENAMETOOLONG: {
    what: 'the name is longer than the file system allows',
    todo: 'Use a shorter one.',
    type: 'State.NotAllowed',
  },
  EISDIR: {
    what: 'it is a directory where a file is needed',
    todo: 'Move it away, then run the command again.',
    type: 'State.NotAllowed',
  },
};

/** The part of an argument list that names the object of a system call. */
const subject = ({ path, syscall = '' }: NodeJS.ErrnoException): string =>
  path === undefined ? syscall : `${path} (${syscall})`;

/**
 * The sentence for an error of the file system or the store: what failed, why, and what to do. Null for every other
 * error, which is a defect of `whet`.
 */
export function explainSystemError(error: unknown): CliError | null {
  if (error instanceof StoreKeyError) {
    const name = JSON.stringify(error.key);
    const sentence = `${name} is no place in the store: names of runs, agents and capabilities are no paths.`;
    return new CliError(sentence, { type: 'Cli.Usage', cause: error });
  }
  if (error instanceof StoreCorruptError) return new CliError(error.message, { type: 'Store.Corrupt', cause: error });
  const { code = '', syscall } = (error ?? {}) as NodeJS.ErrnoException;
  const refusal = syscall === undefined ? undefined : REFUSALS[code];
  if (refusal === undefined) return null;
  const sentence = `${subject(error as NodeJS.ErrnoException)}: ${refusal.what}. ${refusal.todo}`;
  return new CliError(sentence, { type: refusal.type, cause: error });
}
