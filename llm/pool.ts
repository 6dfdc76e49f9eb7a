import type { PreparedSpec } from '../contracts';
import { createAnalyst, type Analyst } from './analyst';

/** Gives the analyst of a prepared spec. */
export type AnalystSource = (prepared: PreparedSpec) => Analyst;

/**
 * Analysts of a worker process: activities with the same endpoint and settings share one, and with it one limit of concurrent calls.
 * `apiKey` may be any text for endpoints that ask for none.
 */
export function analystPool(apiKey: string): AnalystSource {
  const analysts = new Map<string, Analyst>();
  return (prepared) => {
    const { concurrency, maxReasks, timeoutSeconds } = prepared.spec.analyst;
    const { baseUrl, model } = prepared.analyst;
    const id = JSON.stringify([baseUrl, model, concurrency, maxReasks, timeoutSeconds]);
    let analyst = analysts.get(id);
    if (!analyst) analysts.set(id, (analyst = createAnalyst({ baseUrl, apiKey, model, concurrency, maxReasks, timeoutMs: timeoutSeconds * 1000 })));
    return analyst;
  };
}
