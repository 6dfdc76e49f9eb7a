/** The same request shapes as shapes.py, with the openai package of Node. */
import OpenAI from 'openai';

const TOOL: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'look_up_order',
    description: 'Looks an order up.',
    parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  },
};
const ASK: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Please cancel order 1003 for me.' }];

function message(answer: OpenAI.ChatCompletion) {
  const { message: said, finish_reason: finish } = answer.choices[0]!;
  const calls = (said.tool_calls ?? []).map((call) =>
    call.type === 'function' ? [call.function.name, call.function.arguments] : [],
  );
  return { content: said.content, calls, finish, usage: answer.usage?.total_tokens };
}

async function streamed(client: OpenAI, model: string) {
  const result = {
    content: '',
    calls: [] as unknown[],
    finish: null as string | null,
    usage: undefined as number | undefined,
  };
  const stream = await client.chat.completions.create({
    model,
    messages: ASK,
    tools: [TOOL],
    seed: 3,
    max_tokens: 40,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    result.usage = chunk.usage?.total_tokens ?? result.usage;
    for (const { delta, finish_reason: finish } of chunk.choices) {
      result.content += delta.content ?? '';
      result.calls.push(...(delta.tool_calls ?? []).map((call) => [call.function?.name, call.function?.arguments]));
      result.finish = finish ?? result.finish;
    }
  }
  return result;
}

/** What came back for each shape; ids and times are left out. */
export async function nodeShapes(baseURL: string, model: string): Promise<Record<string, unknown>> {
  const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });
  const create = (more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>) =>
    client.chat.completions.create({ model, messages: ASK, seed: 3, max_tokens: 40, ...more });
  const { logprobs } = (await create({ max_tokens: 2, logprobs: true, top_logprobs: 3 })).choices[0]!;
  const structured = {
    max_tokens: 4,
    structured_outputs: { choice: ['yes', 'no'] },
  } as Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;
  const refused = await create({ model: 'nobody' }).catch(
    (error: unknown) => error as InstanceType<typeof OpenAI.APIError>,
  );
  return {
    chat: message(await create({})),
    tools: message(await create({ tools: [TOOL], tool_choice: 'auto' })),
    logprobs: logprobs?.content?.map(({ token, logprob }) => [token, Number(logprob.toFixed(4))]),
    stream: await streamed(client, model),
    structured: message(await create(structured)),
    refusal: refused instanceof OpenAI.NotFoundError ? [refused.status, refused.code] : null,
  };
}
