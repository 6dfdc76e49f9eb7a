import { createHash } from 'node:crypto';

/** An adapter's share in a merge. */
export interface AdapterWeight {
  /** Immutable name of the adapter. */
  adapter: string;
  /** In (0, 1]; the weights of a merge sum to 1. */
  weight: number;
}

/** Immutable name of the adapter that is merged from these parts. All gateways give equal parts the same name. */
export function mergedAdapterName(parts: readonly AdapterWeight[]): string {
  const text = parts.map(({ adapter, weight }) => `${adapter}:${weight}`).sort();
  return `mix@${createHash('sha256').update(text.join('\n')).digest('hex').slice(0, 12)}`;
}
