import { hash, randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  chatDialect,
  COUNT_TOKENS_PATH,
  countedTokens,
  countToChat,
  type Dialect,
  DialectError,
  eventsOf,
  type Fields,
  messagesDialect,
  responsesDialect,
} from '../../../dialects';
import { SandboxError } from '../../../sandbox';
import { type EpisodeCapture, RefusedRequest, requireFewMessages } from './episode-capture';

/** Largest body of a request. */
const MAX_BODY_BYTES = 8_388_608;
/** Longest time for a request to arrive, in milliseconds. */
const REQUEST_MS = 60_000;
/** Most connections at a time: each costs this process memory, whoever opens it. */
const MOST_CONNECTIONS = 4_096;
const DIALECTS = [chatDialect, responsesDialect, messagesDialect];

/** Where a program finds the model of its episode. */
export interface CaptureAddress {
  /** Without a path. */
  url: string;
  /** 256 random bits; it works until `end`. */
  key: string;
  /** The key stops to work. */
  end: () => void;
}

/**
 * The model endpoint of programs, on loopback. Each episode has a key, under which its requests are answered and
 * recorded.
 */
export class CaptureServer {
  /** By the hash of the key, so that the time of a look-up tells nothing about a key. */
  private readonly episodes = new Map<string, EpisodeCapture>();
  private readonly server: FastifyInstance;
  private listening: Promise<string> | null = null;
  private isClosed = false;

  constructor() {
    this.server = fastify({
      bodyLimit: MAX_BODY_BYTES,
      requestTimeout: REQUEST_MS,
      forceCloseConnections: true,
      logger: false,
    });
    const parse = this.server.getDefaultJsonParser('error', 'error');
    this.server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body: string, done) => {
      try {
        if (saidBytes(request) === null) this.episodeOf(request)?.receive(Buffer.byteLength(body));
      } catch (error) {
        return done(error as Error);
      }
      return parse(request, body, done);
    });
    for (const dialect of DIALECTS) this.server.post(dialect.path, this.route(dialect, answerTo));
    this.server.post(
      COUNT_TOKENS_PATH,
      this.route(messagesDialect, async (episode, asked) =>
        countedTokens(await episode.countTokens(countToChat(asked))),
      ),
    );
    this.server.get('/v1/models', (request, reply) => {
      const id = this.episodeOf(request)?.model;
      if (id === undefined) return refuse(reply, UNKNOWN_KEY, chatDialect);
      return { object: 'list', data: [{ id, object: 'model', created: 0, owned_by: 'whetstone' }] };
    });
    this.server.setNotFoundHandler((_request, reply) =>
      refuse(reply, new RefusedRequest(404, 'unknown_route', 'There is no such route.'), chatDialect),
    );
  }

  /** Opens the endpoint for an episode. Rejects with Sandbox.EnvironmentClosed after `close`. */
  async open(episode: EpisodeCapture): Promise<CaptureAddress> {
    if (this.isClosed) throw new SandboxError('Sandbox.EnvironmentClosed', 'The capture endpoint was closed.');
    this.listening ??= this.listen();
    const url = await this.listening;
    const key = randomBytes(32).toString('base64url');
    const name = nameOf(key);
    this.episodes.set(name, episode);
    return { url, key, end: () => void this.episodes.delete(name) };
  }

  /** Ends all connections. Idempotent. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.episodes.clear();
    await this.listening;
    await this.server.close();
  }

  private async listen(): Promise<string> {
    await this.server.listen({ host: '127.0.0.1', port: 0 });
    this.server.server.maxConnections = MOST_CONNECTIONS;
    return `http://127.0.0.1:${(this.server.server.address() as AddressInfo).port}`;
  }

  /** Anthropic's clients send the key in a header of their own. */
  private episodeOf({ headers }: FastifyRequest): EpisodeCapture | undefined {
    const { authorization, 'x-api-key': other } = headers;
    const key = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? other;
    return typeof key === 'string' ? this.episodes.get(nameOf(key)) : undefined;
  }

  private route(dialect: Dialect, answer: Answering) {
    return {
      // Before the body is read: nobody without a key can send one.
      onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
        try {
          const episode = this.episodeOf(request);
          if (episode === undefined) throw UNKNOWN_KEY;
          episode.enter(saidBytes(request) ?? 0);
          reply.raw.once('close', () => episode.leave());
        } catch (error) {
          return refuse(reply, error, dialect);
        }
        return undefined;
      },
      errorHandler: (error: unknown, _request: FastifyRequest, reply: FastifyReply) => refuse(reply, error, dialect),
      handler: async (request: FastifyRequest, reply: FastifyReply) => {
        const episode = this.episodeOf(request);
        if (episode === undefined) throw UNKNOWN_KEY;
        const { body } = request;
        if (typeof body !== 'object' || body === null || Array.isArray(body))
          throw new RefusedRequest(400, 'invalid_json', 'The request body must be a JSON object.');
        const asked = body as Fields;
        for (const name of ['messages', 'input']) requireFewMessages(asked[name], name);
        return reply.send(await answer(episode, asked, reply, dialect));
      },
    };
  }
}

/** Gives the body of the answer to a request. */
type Answering = (
  episode: EpisodeCapture,
  asked: Fields,
  reply: FastifyReply,
  dialect: Dialect,
) => Promise<object | string>;

const answerTo: Answering = async (episode, asked, reply, dialect) => {
  const { answer, missed } = episode.ask(dialect.toChat(asked));
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) missed();
  });
  const said = await answer;
  const id = randomUUID().replaceAll('-', '');
  const names = { id, model: episode.model, created: Math.floor(Date.now() / 1000), asked };
  if (asked['stream'] !== true) return dialect.answer(said, names);
  reply.type('text/event-stream');
  return eventsOf(said, dialect, names);
};

const UNKNOWN_KEY = new RefusedRequest(401, 'invalid_api_key', 'The API key is not that of an episode that runs.');

/** How many bytes a request says that it has; null: it does not say. */
function saidBytes({ headers }: FastifyRequest): number | null {
  const length = Number(headers['content-length'] ?? NaN);
  return Number.isNaN(length) ? null : Math.min(length, MAX_BODY_BYTES);
}

/** Whether a request has a body that is longer than any is read, or says no length. */
const isTooLong = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES;

const nameOf = (key: string): string => hash('sha256', key, 'hex');

function refuse(reply: FastifyReply, error: unknown, dialect: Dialect): FastifyReply {
  const { status, message, param, code } = refusalOf(error);
  // A body without end from somebody without a key is not read.
  if (status === 401 && isTooLong(reply.request)) void reply.header('connection', 'close');
  return reply.code(status).send(dialect.error(status, message, param, code));
}

/** What the program is told. Only the errors of Fastify's own have a status. */
function refusalOf(error: unknown): Pick<RefusedRequest, 'status' | 'message' | 'param' | 'code'> {
  if (error instanceof RefusedRequest) return error;
  if (error instanceof DialectError)
    return { status: 400, message: error.message, param: error.param, code: 'invalid' };
  const { statusCode = 500 } = error as { statusCode?: number };
  const message = statusCode < 500 ? (error as Error).message : 'The capture endpoint failed.';
  return { status: statusCode, message, param: null, code: statusCode === 413 ? 'request_too_large' : 'invalid_json' };
}
