import { z } from 'zod';
import type { RoutingRecord } from '../../contracts/artifacts/evaluation';
import { routerMenu, routerPrompt } from '../../contracts/routing/router-prompt';
import { ROUTER_TOP_LOGPROBS, routingDecision } from '../../contracts/routing/routing-decision';
import { rankReplicas } from '../upstream/rank-replicas';
import type { Replica } from '../upstream/replica';
import type { RouterDeps, RoutingQuestion } from './router';

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
 * Asks the base model which capability a task needs, with the prompt of the evaluation (docs/protocols.md, section 7),
 * and reads the probabilities of the labels. A server that fails is followed by the next one that is ready. Rejects
 * when the signal is aborted, when no model server is ready, and when none answers with status 200 and a chat
 * completion.
 */
export async function askBaseModel(
  { replicas, baseModel }: Pick<RouterDeps, 'replicas' | 'baseModel'>,
  capabilities: readonly { id: string; summary: string }[],
  { task, prefix }: Pick<RoutingQuestion, 'task' | 'prefix'>,
  signal: AbortSignal,
): Promise<RoutingRecord> {
  const menu = routerMenu(capabilities);
  const body = JSON.stringify({
    model: baseModel,
    messages: [{ role: 'user', content: routerPrompt(task, menu) }],
    temperature: 0,
    seed: 0,
    max_tokens: 1,
    logprobs: true,
    top_logprobs: ROUTER_TOP_LOGPROBS,
    structured_outputs: { choice: menu.map(({ label }) => label) },
  });
  const tried = new Set<Replica>();
  let failure = new Error('No model server is ready for the router.');
  for (;;) {
    const replica = rankReplicas(replicas.all, null, prefix).find((able) => !tried.has(able));
    if (replica === undefined) throw failure;
    tried.add(replica);
    try {
      const { message, logprobs } = await askReplica(replica, baseModel, body, signal);
      return routingDecision(0, menu, {
        content: message.content ?? null,
        firstToken: logprobs?.content?.[0]?.top_logprobs ?? [],
      });
    } catch (error) {
      failure = error as Error;
      if (signal.aborted) throw failure;
      // The connection failed, not the answer. Traffic leaves the server if it has gone.
      if ('code' in failure) void replica.doubt();
    }
  }
}

async function askReplica(replica: Replica, baseModel: string, body: string, signal: AbortSignal) {
  const headers = {
    'content-type': 'application/json',
    ...(replica.apiKey === null ? {} : { authorization: `Bearer ${replica.apiKey}` }),
  };
  replica.begin(baseModel);
  try {
    const answer = await replica.pool.request({
      method: 'POST',
      path: `${replica.basePath}/chat/completions`,
      headers,
      body,
      signal,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200)
      throw new Error(`A model server answered the router with status ${answer.statusCode}.`);
    return answerSchema.parse(JSON.parse(text)).choices[0]!;
  } finally {
    replica.end(baseModel);
  }
}
