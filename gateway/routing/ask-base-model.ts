import { z } from 'zod';
import type { RoutingRecord } from '../../contracts/artifacts/evaluation';
import { routerMenu, routerPrompt } from '../../contracts/routing/router-prompt';
import { ROUTER_TOP_LOGPROBS, routingDecision } from '../../contracts/routing/routing-decision';
import { rankReplicas } from '../upstream/rank-replicas';
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
 * and reads the probabilities of the labels. Rejects when no model server is ready, when it does not answer with status
 * 200, and when its answer is not a chat completion.
 */
export async function askBaseModel(
  { replicas, baseModel }: Pick<RouterDeps, 'replicas' | 'baseModel'>,
  capabilities: readonly { id: string; summary: string }[],
  { task, prefix }: Pick<RoutingQuestion, 'task' | 'prefix'>,
  signal: AbortSignal,
): Promise<RoutingRecord> {
  const menu = routerMenu(capabilities);
  const replica = rankReplicas(replicas.all, null, prefix)[0];
  if (replica === undefined) throw new Error('No model server is ready for the router.');
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
    const { message, logprobs } = answerSchema.parse(JSON.parse(text)).choices[0]!;
    return routingDecision(0, menu, {
      content: message.content ?? null,
      firstToken: logprobs?.content?.[0]?.top_logprobs ?? [],
    });
  } finally {
    replica.end(baseModel);
  }
}
