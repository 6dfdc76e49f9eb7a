import { remedyFor } from '../errors';
import { activityView } from './activities';

/** What to do about a failure that concerns an address: in the first checks, and after them. */
interface AddressAdvice {
  preparing: string;
  later: string;
}

/**
 * The first checks read agent.yaml at each attempt. What follows keeps the addresses that the run began with, so that
 * its results stay comparable.
 */
const ADDRESS_ADVICE: Record<string, AddressAdvice> = {
  'Model.Unreachable': {
    preparing:
      'Start it, or correct model.baseUrl: until its first checks have passed, a run reads agent.yaml again at each ' +
      'attempt. Without model.baseUrl it is `whet up` that starts the server.',
    later:
      'Start it again. The run keeps the address that it began with: let the server listen there again; a change of ' +
      'agent.yaml or of a port has no effect on this run.',
  },
  'Analyst.Unavailable': {
    preparing:
      'Nothing: the call is repeated with back-off. If it persists, check the endpoint, or correct analyst.baseUrl: ' +
      'until its first checks have passed, a run reads agent.yaml again at each attempt.',
    later:
      'Nothing: the call is repeated with back-off. Check the endpoint if it persists. The run keeps the address ' +
      'that it began with: a change of agent.yaml has no effect on this run.',
  },
};

/** What to do about a failed attempt of an activity; null for an unknown type of failure. */
export function adviceFor(activityType: string, failureType: string | null): string | null {
  const advice = ADDRESS_ADVICE[failureType ?? ''];
  if (advice === undefined) return remedyFor(failureType);
  return activityView(activityType).stage === 'prepare' ? advice.preparing : advice.later;
}
