/**
 * The gateway's OpenAPI document, served at /openapi.json. It describes the part of OpenAI's bodies that the gateway
 * reads.
 */
import { z } from 'zod';
import { GATEWAY_HEADERS, outcomeSchema } from '../../contracts/config/gateway-config';

const error = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['message', 'type', 'param', 'code'],
      properties: {
        message: { type: 'string' },
        type: { type: 'string' },
        param: { type: ['string', 'null'] },
        code: { type: ['string', 'null'] },
      },
    },
  },
};
const json = (schema: unknown) => ({ 'application/json': { schema } });
const failure = (description: string) => ({ description, content: json({ $ref: '#/components/schemas/Error' }) });
const object = { type: 'object' };
/** An answer with JSON content. */
const answer = (description: string) => ({ description, content: json(object) });
/** A route that takes GET. */
const get = (summary: string, responses: Record<number, unknown>) => ({ get: { summary, responses } });

const REFUSALS = {
  400: failure('The request is invalid.'),
  401: failure('The API key is missing or not valid.'),
  403: failure('The web page may not use this gateway.'),
  404: failure('The model or route does not exist.'),
  405: failure('The route takes another method.'),
  408: failure('The body did not arrive in time.'),
  413: failure('The body is too large.'),
  415: failure('The body is not JSON by its type, or compressed.'),
  429: failure('A limit is reached.'),
};
const UPSTREAM = {
  502: failure('No model server gave a usable answer.'),
  503: failure('No model server is ready, or there is no memory left.'),
  504: failure('The model server did not answer in time.'),
};

const conversation = {
  name: GATEWAY_HEADERS.conversation,
  in: 'header',
  required: false,
  description: 'Names the conversation. Absent: requests with the same opening messages are one conversation.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,200}$' },
};

function inference(
  models: readonly string[],
  summary: string,
  required: string[],
  properties: Record<string, unknown>,
) {
  const schema = {
    type: 'object',
    required: ['model', ...required],
    additionalProperties: true,
    properties: {
      model: models.length === 0 ? { type: 'string' } : { anyOf: [{ enum: models }, { type: 'string' }] },
      ...properties,
    },
  };
  const answers = {
    description: 'The answer as the model server gave it.',
    content: { ...json(object), 'text/event-stream': { schema: { type: 'string' } } },
  };
  return {
    post: {
      summary,
      parameters: [conversation],
      requestBody: { required: true, content: json(schema) },
      responses: { 200: answers, ...REFUSALS, 422: failure('The model server refused the request.'), ...UPSTREAM },
    },
  };
}

/** The part of a message that the gateway reads. */
const message = {
  type: 'object',
  required: ['role'],
  additionalProperties: true,
  properties: { role: { type: 'string' }, content: {} },
};
const stream = { type: ['boolean', 'null'] };

/** The document for a client that may use these models. */
export const openApi = (models: readonly string[]) => ({
  openapi: '3.1.0',
  info: {
    title: 'Whetstone gateway',
    version: '1',
    description: "An agent's base model and adapters behind one OpenAI-compatible endpoint.",
  },
  components: { schemas: { Error: error }, securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  paths: {
    '/v1/chat/completions': inference(models, 'Answers a conversation', ['messages'], {
      messages: { type: 'array', minItems: 1, items: message },
      stream,
    }),
    '/v1/responses': inference(models, 'Answers a conversation, as a response', ['input'], { input: {}, stream }),
    '/v1/messages': inference(models, 'Answers a conversation, as a message of Anthropic', ['messages', 'max_tokens'], {
      messages: { type: 'array', minItems: 1, items: message },
      max_tokens: { type: 'integer', minimum: 1 },
      stream,
    }),
    '/v1/messages/count_tokens': inference(models, 'Counts the tokens of a conversation', ['messages'], {
      messages: { type: 'array', minItems: 1, items: message },
    }),
    '/v1/completions': inference(models, 'Completes a prompt', ['prompt'], { prompt: {}, stream }),
    '/v1/embeddings': inference(models, 'Embeds texts', ['input'], { input: {} }),
    '/v1/models': get('Lists the models', { 200: answer('A list.'), 401: REFUSALS[401] }),
    '/v1/outcomes': {
      post: {
        summary: 'Reports how a conversation went',
        requestBody: { required: true, content: json(withoutSchemaKey(z.toJSONSchema(outcomeSchema))) },
        responses: { 200: answer('Whether it was counted.'), ...REFUSALS },
      },
    },
    '/healthz': get('Whether the process is alive', { 200: answer('It is.') }),
    '/readyz': get('Whether every agent can be served', { 200: answer('It can.'), 503: answer('What is missing.') }),
    '/metrics': get('Prometheus metrics, on the port for operators where there is one', {
      200: { description: 'Text.', content: { 'text/plain': { schema: { type: 'string' } } } },
      404: REFUSALS[404],
    }),
    '/openapi.json': get('This document, with the models of the key', {
      200: answer('The document.'),
      401: REFUSALS[401],
    }),
  },
});

function withoutSchemaKey({ $schema: _, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return schema;
}
