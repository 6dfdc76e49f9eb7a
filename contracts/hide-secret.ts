/** Shorter ones are no keys but words, such as `none`, which any text may contain. */
const SHORTEST = 8;

/**
 * Replaces a secret everywhere in a text. Servers repeat keys in their errors, which reach logs and histories.
 */
export function hideSecret(text: string, secret: string | null | undefined): string {
  return secret == null || secret.length < SHORTEST ? text : text.replaceAll(secret, '[key]');
}

/** The same for bytes in any encoding that has ASCII in it. Without the secret they are the same bytes, not copied. */
export function hideSecretInBytes(bytes: Buffer, secret: string | null): Buffer {
  if (secret === null || secret.length < SHORTEST || !bytes.includes(secret)) return bytes;
  return Buffer.from(hideSecret(bytes.toString('latin1'), Buffer.from(secret).toString('latin1')), 'latin1');
}

/** The same for an error and its causes: it, or a copy without the secret in messages and stacks. */
export function hideSecretIn(error: Error, secret: string | null | undefined): Error {
  const message = hideSecret(error.message, secret);
  const stack = hideSecret(error.stack ?? '', secret);
  // A cause that is no error says nothing that a reader needs.
  const cause = error.cause instanceof Error ? hideSecretIn(error.cause, secret) : undefined;
  if (message === error.message && stack === (error.stack ?? '') && cause === error.cause) return error;
  return Object.assign(new Error(message, { cause }), { name: error.name, stack });
}
