import type { PreparedSpec } from '../contracts/artifacts/prepared-spec';
import type { RunContext } from '../contracts/messages/run-context';
import { createAnalyst, type Analyst } from './analyst';
import { contentKey } from './keys';
import type { RateBoard } from './rate/rate-board';

/** Gives the analyst of a prepared spec, for a run's calls. */
export type AnalystSource = (prepared: PreparedSpec, context: Pick<RunContext, 'runId' | 'agent'>) => Analyst;

/** What a worker's analysts share with those of other workers. */
export interface SharedParts {
  /** The board of an endpoint, by a name made of its address and model. */
  rateBoard?: (endpoint: string) => RateBoard;
  redactionSecret?: () => Promise<string>;
}

/**
 * Analysts of a worker process: activities with the same endpoint and settings share one, and with it one limit of
 * concurrent calls. `apiKey` may be any text for endpoints that ask for none.
 */
export function analystPool(apiKey: string, { rateBoard, redactionSecret }: SharedParts = {}): AnalystSource {
  const analysts = new Map<string, Analyst>();
  return (prepared) => {
    const { concurrency, maxReasks, timeoutSeconds, requestsPerMinute, tokensPerMinute, redaction } =
      prepared.spec.analyst;
    const { baseUrl, model } = prepared.analyst;
    const settings = { concurrency, maxReasks, requestsPerMinute, tokensPerMinute, redaction };
    const id = JSON.stringify([baseUrl, model, timeoutSeconds, settings]);
    let analyst = analysts.get(id);
    if (!analyst) {
      const board = rateBoard?.(contentKey(baseUrl, model).slice(0, 16));
      const shared = {
        ...(board === undefined ? {} : { rateBoard: board }),
        ...(redactionSecret === undefined ? {} : { redactionSecret }),
      };
      analysts.set(
        id,
        (analyst = createAnalyst({ baseUrl, apiKey, model, timeoutMs: timeoutSeconds * 1000, ...settings, ...shared })),
      );
    }
    return analyst;
  };
}
