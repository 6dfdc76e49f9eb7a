import type { FailureType } from '../../contracts/failures/run';
import { belongsTo, keyRefusal } from '../../contracts/key-endpoints';
import { failure } from '../../contracts/typed-failure';

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
