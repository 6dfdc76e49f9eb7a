import type { FailureType } from '../../contracts/failures/run';
import { failure } from '../../contracts/typed-failure';

/** Endpoints to which a key belongs: addresses that the worker's operator named. Scheme, host and port count. */
export const belongsTo = (url: string, allowed: readonly string[]): boolean =>
  allowed.some((one) => new URL(one).origin === new URL(url).origin);

/** Why a key is not sent to an address. `what` is the field or thing that has the address. */
export const keyRefusal = (what: string, url: string, variable: string, allowed: readonly string[]): string =>
  `${what} is ${new URL(url).origin}, and the worker's ${variable} belongs to ${allowed.join(', ') || 'no endpoint'}. ` +
  'If that server may have the key, name it in WHET_KEY_ENDPOINTS of the worker (addresses, separated by commas).';

/**
 * Refuses to send a key of the worker to an address that only an agent.yaml or the input of a workflow names. Whoever
 * may start a run could otherwise have the key sent to a server of his own. `allowed` are addresses that the operator
 * named. @throws failure of `type`, by default Spec.Invalid
 */
export function checkKeyEndpoint(
  { field, url, variable }: { field: string; url: string; variable: string },
  allowed: readonly string[],
  type: FailureType = 'Spec.Invalid',
): void {
  if (!belongsTo(url, allowed)) throw failure(type, keyRefusal(field, url, variable, allowed));
}
