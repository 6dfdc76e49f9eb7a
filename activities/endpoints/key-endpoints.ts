import type { FailureType } from '../../contracts/failures/run';
import { belongsTo, keyRefusal } from '../../contracts/key-endpoints';
import { failure } from '../../contracts/typed-failure';

/**
 * Refuses to send a worker's key to an address that only an agent.yaml or a workflow's input names. Otherwise anyone
 * who may start a run could have the key sent to their own server. `allowed` has the addresses that the operator named.
 * @throws failure of `type`, by default Spec.Invalid
 */
export function checkKeyEndpoint(
  { field, url, variable }: { field: string; url: string; variable: string },
  allowed: readonly string[],
  type: FailureType = 'Spec.Invalid',
): void {
  if (!belongsTo(url, allowed)) throw failure(type, keyRefusal(field, url, variable, allowed));
}
