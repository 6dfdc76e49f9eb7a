import { createHash, hash } from 'node:crypto';
import type { Trajectory } from './trajectory';

/** JSON with sorted keys, so that equal values have equal text. Members that are undefined are left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`;
}

/** A trajectory's id: sha256 of its conversation, without its reward. */
export function trajectoryId({
  task,
  trial,
  model,
  messages,
}: Pick<Trajectory, 'task' | 'trial' | 'model' | 'messages'>): string {
  return createHash('sha256').update(canonicalJson({ task, trial, model, messages })).digest('hex');
}

/** The task seed of a conversation, from its id: 52 bits of a hash, because a seed must be a safe integer. */
export const conversationSeed = (id: string): number => Number.parseInt(hash('sha256', id, 'hex').slice(0, 13), 16);
