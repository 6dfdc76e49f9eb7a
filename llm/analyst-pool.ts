import type { PreparedSpec } from '../contracts/artifacts/prepared-spec';
import type { RunContext } from '../contracts/messages/run-context';
import type { Analyst } from './analyst';
import { createAnalyst } from './openai-analyst';
import { contentKey } from './content-key';
import type { ChangeRateState } from './rate/rate-state';

/** Creates the client of a prepared spec's analyst, for the calls of one run. */
export type AnalystFactory = (prepared: PreparedSpec, context: Pick<RunContext, 'runId' | 'agent'>) => Analyst;

/** State that the analyst clients of one worker share with those of other workers. */
export interface AnalystSharing {
  /** Changes the shared rate state of an endpoint. Its name is made from its address and model. */
  changeRateState?: (endpoint: string) => ChangeRateState;
  /** Called with a sentence when that fails, and when it works again. */
  onRateTrouble?: (sentence: string) => void;
  redactionSecret?: () => Promise<string>;
}

/**
 * Makes the factory of a worker process. Activities with the same endpoint and settings get the same client, and so
 * share one limit of concurrent calls. `apiKey` may be any text for endpoints that require none.
 */
export function createAnalystPool(
  apiKey: string,
  { changeRateState, onRateTrouble, redactionSecret }: AnalystSharing = {},
): AnalystFactory {
  const analysts = new Map<string, Analyst>();
  return (prepared) => {
    const { concurrency, maxReasks, timeoutSeconds, requestsPerMinute, tokensPerMinute, redaction } =
      prepared.spec.analyst;
    const { baseUrl, model } = prepared.analyst;
    const settings = { concurrency, maxReasks, requestsPerMinute, tokensPerMinute, redaction };
    const id = JSON.stringify([baseUrl, model, timeoutSeconds, settings]);
    let analyst = analysts.get(id);
    if (!analyst) {
      analyst = createAnalyst({
        baseUrl,
        apiKey,
        model,
        timeoutMs: timeoutSeconds * 1000,
        ...settings,
        changeRateState: changeRateState?.(contentKey(baseUrl, model).slice(0, 16)),
        onRateTrouble,
        redactionSecret,
      });
      analysts.set(id, analyst);
    }
    return analyst;
  };
}
