/**
 * Which model server gets a request. Adapter first: only servers that have it. Then prefix: the same conversation goes
 * where its prompt is cached (rendezvous hashing, so that a server that goes away moves only its own conversations). A
 * server with much more under way than the others is passed over (bounded load, Mirrokni et al. 2016).
 */
import type { Replica } from './replica';

/** A server may have this many times the average under way, and a few more, before its conversations go elsewhere. */
const LOAD_FACTOR = 1.25;
const LOAD_SLACK = 4;

/** Servers that can take a request for `adapter` (null: the base model), the best first. Empty when there is none. */
export function rankReplicas(replicas: readonly Replica[], adapter: string | null, prefix: string): Replica[] {
  const able = replicas.filter((r) => r.ready && (adapter === null || r.routable.has(adapter)));
  if (able.length < 2) return able;
  const limit = (LOAD_FACTOR * able.reduce((sum, r) => sum + r.inFlight, 0)) / able.length + LOAD_SLACK;
  return able
    .map((replica) => ({ replica, over: replica.inFlight > limit, weight: fnv1a(`${replica.url}\u0000${prefix}`) }))
    .sort((a, b) => Number(a.over) - Number(b.over) || b.weight - a.weight)
    .map(({ replica }) => replica);
}

/** 32-bit FNV-1a with a final mix, because its high bits barely depend on the last characters. */
export function fnv1a(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value ^= value >>> 16;
  value = Math.imul(value, 0x7feb352d);
  value ^= value >>> 15;
  return value >>> 0;
}
