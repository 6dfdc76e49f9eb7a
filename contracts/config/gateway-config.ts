/**
 * Schemas of gateway.yaml and of the bodies that clients post to the gateway. Headers that clients and gateway
 * exchange.
 */
import { z } from 'zod';
import { withoutRounding } from '../reward';
import { count, countOrNone, fraction, whole } from './numbers';
import { agentNameSchema } from './agent-name';
import { apiUrlSchema } from './http-url';
import { milliseconds, millisecondsOrNone } from './milliseconds';
import { REDACTION_RULES } from './analyst-spec';

const tracesSchema = z
  .strictObject({
    sample: fraction
      .default(0)
      .describe('Share of conversations, by hash, that are written to the store once their outcome is known.'),
    redact: z
      .array(z.enum(REDACTION_RULES))
      .default([])
      .describe('Kinds of text that are replaced before anything is written.'),
    redactPatterns: z
      .array(z.string())
      .default([])
      .describe('Further regular expressions, applied before the others; matches are replaced.'),
    successReward: fraction.default(1).describe('A conversation with at least this reward is a success.'),
  })
  .prefault({});
export type TraceSettings = z.infer<typeof tracesSchema>;

/** One agent behind the gateway. */
const gatewayAgentSchema = z.strictObject({
  name: agentNameSchema.describe('What clients send as `model`, and the name of the registry.'),
  baseModel: z.string().min(1).describe('Served name of the base model at the model servers.'),
  replicas: z.array(apiUrlSchema).min(1).describe('Model servers, each ending in /v1.'),
  adminPort: whole(1, 65535)
    .optional()
    .describe("Port at which these servers load adapters (the policy server's --admin-port); absent: the API's."),
  router: z
    .strictObject({
      timeoutMs: milliseconds
        .default(150)
        .describe('Time limit of the routing decision; after it the base model gets the conversation.'),
    })
    .prefault({}),
  fallback: z
    .enum(['base', 'error'])
    .default('base')
    .describe('When the chosen adapter cannot answer: the base model, or an error.'),
  traces: tracesSchema,
});
export type GatewayAgent = z.infer<typeof gatewayAgentSchema>;

/** One client application. The configuration has only the hash of its key. */
const gatewayKeySchema = z.strictObject({
  client: z.string().min(1).describe('Name in metrics and logs.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'the sha256 of the key, 64 digits and letters from a to f')
    .describe('sha256 of the key, in hex: `printf %s "$KEY" | sha256sum`.'),
  agents: z.array(agentNameSchema).optional().describe('Agents it may use; absent: all.'),
  requestsPerMinute: count.optional().describe('Absent: no limit.'),
  concurrent: count.optional().describe('Requests in flight; absent: no limit.'),
});
export type GatewayKey = z.infer<typeof gatewayKeySchema>;

/** gateway.yaml. Every field has a default except `version` and `agents`. */
export const gatewayConfigSchema = z.strictObject({
  version: z.literal(1),
  host: z.string().default('127.0.0.1'),
  port: whole(0, 65535).default(8400).describe('0 takes a free one.'),
  agents: z.array(gatewayAgentSchema).min(1),
  keys: z
    .array(gatewayKeySchema)
    .default([])
    .describe('Empty: no key is asked for. Then listen on a loopback address only.'),
  allowedHosts: z
    .array(z.string().min(1).toLowerCase())
    .default([])
    .describe(
      'Without keys: names besides localhost under which the gateway is reached, and of sites that may use it.',
    ),
  admin: z
    .strictObject({
      host: z.string().default('127.0.0.1'),
      port: whole(0, 65535).describe('0 takes a free one.'),
    })
    .optional()
    .describe('Where /metrics and the details of /readyz are. Absent: beside the API without keys, nowhere with keys.'),
  limits: z
    .strictObject({
      bodyBytes: count.default(10_000_000).describe('Largest request body.'),
      openBytes: count
        .optional()
        .describe(
          'Memory for the bodies of all requests under way and their answers, in bytes; absent: half of the heap.',
        ),
      answerBytes: count.default(64_000_000).describe('Largest answer that is not streamed.'),
      choices: count
        .default(128)
        .describe('Most answers that one request asks for by `n`, `best_of` and `prompt`. Each counts as a request.'),
      conversations: count
        .default(200_000)
        .describe('Conversations remembered. The client with most of them loses the longest unused first.'),
    })
    .prefault({}),
  timeouts: z
    .strictObject({
      connectMs: milliseconds.default(2_000),
      firstByteMs: milliseconds
        .default(120_000)
        .describe(
          'Until a model server begins to answer, and from then until an answer that is not streamed has come. A ' +
            'stream goes on no longer than this without data.',
        ),
      idleMs: milliseconds.default(60_000).describe('Between two pieces of an answer.'),
      replicaMs: millisecondsOrNone
        .default(10_000)
        .describe('How long a request waits for a model server when none is ready.'),
      requestBodyMs: milliseconds.default(30_000).describe('Until a client has sent its request.'),
      unreadyMs: millisecondsOrNone
        .default(0)
        .describe('After SIGTERM, how long connections are still taken while /readyz says no; for load balancers.'),
      drainMs: milliseconds.default(30_000).describe('After that, for requests under way.'),
    })
    .prefault({}),
  retries: countOrNone
    .default(2)
    .describe('Further attempts on another or a restarted model server, before the first byte only.'),
  registryPollMs: milliseconds.default(250),
  reconcile: z
    .strictObject({
      everyMs: milliseconds.default(1_000),
      manageAdapters: z
        .boolean()
        .default(true)
        .describe(
          'false: the servers resolve adapters themselves (vLLM filesystem resolver); the gateway only probes.',
        ),
      drainMs: millisecondsOrNone
        .default(10_000)
        .describe('An adapter that is no longer wanted stays this long before it is unloaded.'),
    })
    .prefault({}),
});
export type GatewayConfig = z.infer<typeof gatewayConfigSchema>;
export type GatewayConfigInput = z.input<typeof gatewayConfigSchema>;

/** Body of POST /v1/outcomes: how a conversation went. */
export const outcomeSchema = z.strictObject({
  conversation: z.string().min(1).max(200).describe('The value of `x-whet-conversation` in the answers.'),
  reward: z.preprocess(withoutRounding, fraction).describe('1 is success.'),
  agent: agentNameSchema
    .optional()
    .describe('Agent of the conversation. Needed when conversations of several agents have the same name.'),
});
export type Outcome = z.infer<typeof outcomeSchema>;

/** Headers of requests and answers. */
export const GATEWAY_HEADERS = {
  conversation: 'x-whet-conversation',
  adapter: 'x-whet-adapter',
  version: 'x-whet-version',
  route: 'x-whet-route',
  overhead: 'x-whet-overhead-ms',
} as const;
