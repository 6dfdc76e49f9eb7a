import { z } from 'zod';
import type { RoutingRecord } from '../../contracts/artifacts/evaluation';
import { routerMenu, routerPrompt } from '../../routing/router-prompt';
import { ROUTER_TOP_LOGPROBS, routingDecision } from '../../routing/menu-answer';
import { rankReplicas } from '../upstream/rank-replicas';
import type { Replica } from '../upstream/replica';
import type { RouterDeps, RoutingQuestion } from './conversation-router';

const tokenSchema = z.object({ token: z.string(), logprob: z.number() });
const answerSchema = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullish() }),
        logprobs: z
          .object({ content: z.array(z.object({ top_logprobs: z.array(tokenSchema).nullish() })).nullish() })
          .nullish(),
      }),
    )
    .min(1),
});

/**
 * Asks the base model which capability a task needs, and reads the probabilities of the labels. The prompt is the
 * evaluation's (docs/reference/protocols.md, section 7). If a server fails, the next ready server is asked. While none
 * is ready it waits. Otherwise new conversations would go to the base model just because a server is restarted. If a
 * connection broke, the servers are asked a second time once they are ready again. Rejects when the signal fires, and
 * if no server answers with status 200 and a chat completion.
 */
export async function askBaseModel(
  { replicas, baseModel }: Pick<RouterDeps, 'replicas' | 'baseModel'>,
  capabilities: readonly { id: string; summary: string }[],
  { task, prefix }: Pick<RoutingQuestion, 'task' | 'prefix'>,
  signal: AbortSignal,
): Promise<RoutingRecord> {
  const menu = routerMenu(capabilities);
  const body = {
    model: baseModel,
    messages: [{ role: 'user', content: routerPrompt(task, menu) }],
    temperature: 0,
    seed: 0,
    max_tokens: 1,
    logprobs: true,
    top_logprobs: ROUTER_TOP_LOGPROBS,
    structured_outputs: { choice: menu.map(({ label }) => label) },
  };
  const ask = async (): Promise<RoutingRecord> => {
    if (!(await replicas.readyBefore(signal))) throw new Error('No model server is ready for the router.');
    const { message, logprobs } = await askInTurn(
      () => rankReplicas(replicas.all, null, prefix),
      (replica) => askReplica(replica, body, signal),
      signal,
    );
    return routingDecision(0, menu, {
      content: message.content ?? null,
      firstToken: logprobs?.content?.[0]?.top_logprobs ?? [],
    });
  };
  return ask().catch(async (error: unknown) => {
    if (!(error instanceof ConnectionBroken) || signal.aborted) throw error;
    await error.verified;
    return ask();
  });
}

/** The connection to a model server failed, not its answer. */
class ConnectionBroken extends Error {
  /**
   * @param verified resolves when the server has been asked for its models. By then, a server that is gone is out of
   *   service.
   */
  constructor(
    cause: Error,
    readonly verified: Promise<void>,
  ) {
    super(cause.message, { cause });
  }
}

/** Asks one server after the other. Rejects with the failure of the last one, or when the signal fires. */
async function askInTurn<Answer>(
  able: () => Replica[],
  ask: (replica: Replica) => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  const tried = new Set<Replica>();
  let failure = new Error('No model server is ready for the router.');
  for (;;) {
    const replica = able().find((candidate) => !tried.has(candidate));
    if (replica === undefined) throw failure;
    tried.add(replica);
    try {
      return await ask(replica);
    } catch (error) {
      failure = error as Error;
      if (signal.aborted) throw failure;
      if ('code' in failure) failure = new ConnectionBroken(failure, replica.doubt());
    }
  }
}

async function askReplica(replica: Replica, body: { model: string }, signal: AbortSignal) {
  replica.begin(body.model);
  try {
    return answerSchema.parse(JSON.parse(await replica.ask('/chat/completions', body, signal))).choices[0]!;
  } finally {
    replica.end(body.model);
  }
}
