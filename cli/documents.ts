import { z } from 'zod';
import { jsonFault } from '../contracts/json-fault';
import { StoreCorruptError } from '../store';
import { CliError } from './errors';

/**
 * Reads something that `path` holds. @throws CliError, with the file, what is wrong and `remedy`, when its content is
 * damaged: torn by a crash, edited by hand, or written by another version.
 */
export async function readDamageable<T>(path: string, remedy: string, read: () => Promise<T> | T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    // The store's own message says all of it, and how to go back to the version before.
    if (error instanceof StoreCorruptError)
      throw new CliError(`${path}: ${error.message}`, { type: error.type, cause: error });
    const reason = damage(error);
    if (reason === null) throw error;
    throw new CliError(`${path} is damaged: ${reason}. ${remedy}`, { type: 'Store.Corrupt', cause: error });
  }
}

/** What is wrong with a document; null for an error that says nothing about its content. */
function damage(error: unknown): string | null {
  if (error instanceof SyntaxError) return `it is not whole JSON (${jsonFault(error)})`;
  if (!(error instanceof z.ZodError)) return null;
  const [issue] = error.issues;
  return `${issue?.path.join('.') || 'the document'}: ${issue?.message ?? 'it does not have the expected form'}`;
}
