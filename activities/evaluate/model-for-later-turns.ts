import { MIXED } from '../../contracts/names';
import type { LaterTurnsReader } from '../../routing/later-turns';
import type { ReadMessage } from '../../routing/opening-text';

/**
 * Name of the model that answers after these messages, in a conversation that began with `opening`. The mixed adapter
 * was trained for all needs of later messages, so it keeps its conversations.
 */
export function modelForLaterTurns(
  laterTurns: LaterTurnsReader,
  adapters: readonly { capabilityId: string; name: string }[],
  opening: string,
): (messages: readonly ReadMessage[]) => string {
  const names = new Map(adapters.map(({ capabilityId, name }) => [capabilityId, name]));
  if (names.get(MIXED) === opening) return () => opening;
  return (messages) => {
    const switched = laterTurns(messages);
    return (switched && names.get(switched.capabilityId)) ?? opening;
  };
}
