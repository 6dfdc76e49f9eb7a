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
 * Whether parsers keep an address as it is written: URL parsers drop tabs and line feeds, and read a backslash as a
 * slash.
 */
export const isWrittenPlainly = (text: string): boolean => /^https?:\/\/[^\s\\/?#][^\s\\]*$/i.test(text);

/** What `isWrittenPlainly` allows. */
export const PLAIN_ADDRESS = 'an address with a host behind http:// or https://, without blanks and backslashes';

/**
 * The address of a server: http or https. A user name or password is not allowed, because messages and reports would
 * show it.
 */
export const httpUrlSchema = z
  .url({ protocol: /^https?$/, error: 'an address that begins with http:// or https://' })
  .refine(isWrittenPlainly, { error: PLAIN_ADDRESS })
  .refine(isPlain, { error: 'an address with no user name or password; keys go into variables of the worker' });

/** The address of an API, to which the paths of its methods are added. A key in its query would end up in messages. */
export const apiUrlSchema = httpUrlSchema.refine((text) => !/[?#]/.test(text), {
  error: 'an address without ? and #; keys go into variables of the worker',
});
