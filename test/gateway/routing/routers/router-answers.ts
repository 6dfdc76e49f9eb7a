import { send, type SeenRequest } from '../../../fakes/replica';

/** Behaviour of a fake model server that answers the router with these label probabilities. */
export const labelProbabilities =
  (shares: Record<string, number>) =>
  ({ body }: SeenRequest, response: Parameters<typeof send>[0]): boolean => {
    if (body.structured_outputs === undefined) return false;
    const top = Object.entries(shares).map(([token, share]) => ({ token, logprob: Math.log(share) }));
    send(response, 200, {
      choices: [{ message: { content: top[0]?.token }, logprobs: { content: [{ top_logprobs: top }] } }],
    });
    return true;
  };
