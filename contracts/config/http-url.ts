import { z } from 'zod';

const isPlain = (text: string): boolean => {
  try {
    const { username, password } = new URL(text);
    return username === '' && password === '';
  } catch {
    return false;
  }
};

/**
 * The address of a server: http or https, without a user name or password, which would come to light in messages and
 * reports.
 */
export const httpUrlSchema = z
  .url({ protocol: /^https?$/, error: 'an address that begins with http:// or https://' })
  .refine(isPlain, { error: 'an address with no user name or password; keys go into variables of the worker' });
