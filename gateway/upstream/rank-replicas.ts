/**
 * Decides which model server gets a request. Only servers with the adapter are possible. Among them, a conversation
 * always goes to the same server, where its prompt is cached. Rendezvous hashing chooses this server: if a server
 * fails, only its own conversations get another one. A server with far more requests in flight than the others comes
 * last (bounded loads, Mirrokni et al. 2016).
 */
import { fnv1a } from '../../routing/fnv1a';
import type { Replica } from './replica';

/** A server is overloaded if it has more requests in flight than LOAD_FACTOR times the average plus LOAD_SLACK. */
const LOAD_FACTOR = 1.25;
const LOAD_SLACK = 4;

/**
 * Servers that can take a request for `adapter` (null: the base model), the best first. `prefix` is the conversation's
 * key. Empty if no server can take it.
 */
export function rankReplicas(replicas: readonly Replica[], adapter: string | null, prefix: string): Replica[] {
  const able = replicas.filter((r) => r.ready && (adapter === null || r.routable.has(adapter)));
  if (able.length < 2) return able;
  const limit = (LOAD_FACTOR * able.reduce((sum, r) => sum + r.inFlight, 0)) / able.length + LOAD_SLACK;
  return able
    .map((replica) => ({ replica, over: replica.inFlight > limit, weight: fnv1a(`${replica.url}\u0000${prefix}`) }))
    .sort((a, b) => Number(a.over) - Number(b.over) || b.weight - a.weight)
    .map(({ replica }) => replica);
}
