import { NONE_LABEL } from '../../contracts/names';
import type { LaterTurnsReader } from '../../routing/later-turns';
import type { ReadMessage } from '../../routing/opening-text';

/** Name of the model that answers after these messages, in a conversation that began with the model `opening`. */
export function modelForLaterTurns(
  laterTurns: LaterTurnsReader,
  adapters: readonly { capabilityId: string; name: string }[],
  opening: string,
): (messages: readonly ReadMessage[]) => string {
  const names = new Map(adapters.map(({ capabilityId, name }) => [capabilityId, name]));
  const arm = adapters.find(({ name }) => name === opening)?.capabilityId ?? NONE_LABEL;
  return (messages) => {
    const switched = laterTurns(messages, arm);
    return (switched && names.get(switched.capabilityId)) ?? opening;
  };
}
