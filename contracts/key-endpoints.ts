/** Endpoints to which a key belongs: addresses that the worker's operator named. Scheme, host and port count. */
export const belongsTo = (url: string, allowed: readonly string[]): boolean =>
  allowed.some((one) => new URL(one).origin === new URL(url).origin);

/** Why a key is not sent to an address. `what` is the field or thing that has the address. */
export const keyRefusal = (what: string, url: string, variable: string, allowed: readonly string[]): string =>
  `${what} is ${new URL(url).origin}, and the worker's ${variable} belongs to ${allowed.join(', ') || 'no endpoint'}. ` +
  'If that server may have the key, name it in WHET_KEY_ENDPOINTS of the worker (addresses, separated by commas).';
