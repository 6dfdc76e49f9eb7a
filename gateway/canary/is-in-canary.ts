import { hash } from 'node:crypto';
import type { Canary } from '../../contracts/artifacts/registry';

/**
 * Whether a conversation belongs to the canary: a function of the canary and the conversation's key, so that all
 * gateways agree.
 */
export function isInCanary({ id, share }: Pick<Canary, 'id' | 'share'>, conversation: string): boolean {
  return Number.parseInt(hash('sha256', `${id}\u0000${conversation}`, 'hex').slice(0, 13), 16) / 2 ** 52 < share;
}
