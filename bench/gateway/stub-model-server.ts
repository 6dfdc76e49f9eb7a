/**
 * A model server that answers at once, so that a measurement is of everything else. A process of its own: `node
 * stub-model-server.js PORT`. It answers chat completions, whole or as a stream of 20 events, the router's question,
 * the list of models, and calls that load an adapter.
 */
import { createServer, type ServerResponse } from 'node:http';

const adapters = new Set<string>();
const whole = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-stub',
    object: 'chat.completion',
    created: 1,
    model: 'bench-base',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'A'.repeat(200) }, logprobs: null, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
  }),
);
const label = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-label',
    object: 'chat.completion',
    created: 1,
    model: 'bench-base',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'A' },
        logprobs: { content: [{ token: 'A', logprob: -0.1, top_logprobs: [{ token: 'A', logprob: -0.1 }] }] },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
  }),
);
const envelope = { id: 'chatcmpl-stub', object: 'chat.completion.chunk', created: 1, model: 'bench-base' };
const event = (delta: unknown, finish: string | null): string =>
  `data: ${JSON.stringify({ ...envelope, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const first = event({ role: 'assistant', content: '' }, null);
const next = event({ content: 'token ' }, null);
const last = `${event({}, 'stop')}data: [DONE]\n\n`;

function stream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(first);
  let sent = 0;
  const more = (): void => {
    if (++sent < 20) {
      response.write(next);
      setImmediate(more);
    } else response.end(last);
  };
  setImmediate(more);
}

const json = (response: ServerResponse, body: Buffer): void => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
};

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts);
    if (request.url === '/v1/models') {
      return json(
        response,
        Buffer.from(
          JSON.stringify({ object: 'list', data: ['bench-base', ...adapters].map((id) => ({ id, object: 'model' })) }),
        ),
      );
    }
    if (request.url === '/v1/load_lora_adapter') {
      adapters.add((JSON.parse(body.toString()) as { lora_name: string }).lora_name);
      return json(response, Buffer.from('{}'));
    }
    // Only bytes are searched, because the time to parse 100 KB here would be measured with every gateway.
    if (body.subarray(0, 300).includes('"stream":true') || body.subarray(-300).includes('"stream":true'))
      return stream(response);
    return json(response, body.includes('structured_outputs') ? label : whole);
  });
});
server.keepAliveTimeout = 120_000;
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('listening'));
