/** Shorter values are words rather than keys, such as `none`, and could occur in any text. */
const SHORTEST = 8;

/**
 * Replaces a secret everywhere in a text. Servers repeat keys in their errors, which are written to logs and histories.
 */
export function hideSecret(text: string, secret: string | null | undefined): string {
  return secret == null || secret.length < SHORTEST ? text : text.replaceAll(secret, '[key]');
}

/** The same for every text of a value of JSON. */
export const hideSecretInJson = (value: unknown, secret: string | null | undefined): unknown =>
  secret == null || value === undefined ? value : JSON.parse(hideSecret(JSON.stringify(value), secret));

/**
 * The same for bytes in any encoding that extends ASCII. If the secret does not occur, it returns the same buffer
 * without a copy.
 */
export function hideSecretInBytes(bytes: Buffer, secret: string | null): Buffer {
  if (secret === null || secret.length < SHORTEST || !bytes.includes(secret)) return bytes;
  return Buffer.from(hideSecret(bytes.toString('latin1'), Buffer.from(secret).toString('latin1')), 'latin1');
}

/**
 * The same for an error and its causes: returns the error itself, or a copy with the secret removed from messages and
 * stacks.
 */
export function hideSecretIn(error: Error, secret: string | null | undefined): Error {
  const message = hideSecret(error.message, secret);
  const stack = hideSecret(error.stack ?? '', secret);
  // A cause that is not an error has nothing that a reader needs.
  const cause = error.cause instanceof Error ? hideSecretIn(error.cause, secret) : undefined;
  if (message === error.message && stack === (error.stack ?? '') && cause === error.cause) return error;
  return Object.assign(new Error(message, { cause }), { name: error.name, stack });
}
