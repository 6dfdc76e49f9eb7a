import { hash } from 'node:crypto';
import type { Canary } from '../../contracts/artifacts/registry';

/** Whether the canary gets a conversation. It depends on canary and key only, so that all gateways agree. */
export function isInCanary({ id, share }: Pick<Canary, 'id' | 'share'>, conversation: string): boolean {
  return Number.parseInt(hash('sha256', `${id}\u0000${conversation}`, 'hex').slice(0, 13), 16) / 2 ** 52 < share;
}
