import { failure } from '../../contracts/typed-failure';

/**
 * Refuses to send a key of the worker to an address that only an agent.yaml names. Whoever may start a run could
 * otherwise have the key sent to a server of his own. `allowed` are addresses that the operator named; scheme, host and
 * port count. @throws Spec.Invalid
 */
export function checkKeyEndpoint(
  { field, url, variable }: { field: string; url: string; variable: string },
  allowed: readonly string[],
): void {
  const { origin } = new URL(url);
  if (allowed.some((one) => new URL(one).origin === origin)) return;
  throw failure(
    'Spec.Invalid',
    `${field} is ${origin}, and the worker's ${variable} belongs to ${allowed.join(', ') || 'no endpoint'}. If that ` +
      'server may have the key, name it in WHET_KEY_ENDPOINTS of the worker (addresses, separated by commas).',
  );
}
