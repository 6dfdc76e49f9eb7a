import { randomUUID } from 'node:crypto';
import {
  type AnswerNames,
  countedTokens,
  countIn,
  countToChat,
  type Dialect,
  DialectError,
  eventsOf,
  type Fields,
  saidIn,
  StreamTranslation,
} from '../../dialects';
import { parseLenient } from '../../contracts/lenient-json';
import { ApiError } from '../http/errors';
import type { InferenceRequest } from '../http/inference-request';
import { RequestBody } from '../http/replace-model-name';

/** Translates a model server's answer. */
export interface Translator {
  /** A translation of a stream's events; null: the answer is no stream. Each attempt needs its own. */
  stream(): StreamTranslation | null;
  /** A whole answer, as events if the client asked for a stream. Throws ApiError 502 for what is none. */
  whole(body: Buffer, isStream: boolean): { body: Buffer; type: 'application/json' | 'text/event-stream' };
}

/** The request as a chat completion. Throws ApiError 400 for what cannot be one. */
export const translateRequest = (sent: InferenceRequest, dialect: Dialect): InferenceRequest =>
  translated(sent, (fields) => dialect.toChat(fields));

/** A request that asks for the number of tokens, as vLLM's. Throws ApiError 400 for what cannot be one. */
export const countRequest = (sent: InferenceRequest): InferenceRequest =>
  translated({ ...sent, stream: false }, countToChat);

/** Translates the number of tokens. */
export const TOKEN_COUNT: Translator = {
  stream: () => null,
  whole(body) {
    const count = countIn(parseLenient(body.toString('utf8')));
    if (count === null)
      throw new ApiError(502, 'The model server did not count the tokens.', { code: 'upstream_junk' });
    return { body: Buffer.from(JSON.stringify(countedTokens(count))), type: 'application/json' };
  },
};

/** The error for a model server that was asked to count: 501 where it has no such route. */
export function refusalToCount(error: unknown): unknown {
  if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 405)) return error;
  return new ApiError(501, 'The model server of this agent does not count tokens.', { code: 'not_counted' });
}

function translated(sent: InferenceRequest, toChat: (fields: Fields) => Fields): InferenceRequest {
  try {
    const parsed = toChat(sent.parsed);
    const bytes = Buffer.from(JSON.stringify(parsed));
    return { ...sent, parsed, body: new RequestBody({ bytes, spare: 0 }, parsed) };
  } catch (error) {
    if (error instanceof DialectError) throw new ApiError(400, error.message, { param: error.param });
    throw error;
  }
}

/** Translates the answer to one request from a chat completion. */
export class AnswerTranslator implements Translator {
  private readonly names: AnswerNames;

  /** @param answerBytes largest answer. */
  constructor(
    private readonly dialect: Dialect,
    { model, parsed: asked }: InferenceRequest,
    private readonly answerBytes: number,
  ) {
    const id = randomUUID().replaceAll('-', '');
    this.names = { id, model, created: Math.floor(Date.now() / 1000), asked };
  }

  stream(): StreamTranslation {
    return new StreamTranslation(this.dialect, this.names, this.answerBytes);
  }

  whole(body: Buffer, isStream: boolean): ReturnType<Translator['whole']> {
    try {
      const said = saidIn(JSON.parse(body.toString('utf8')));
      if (isStream) return { body: Buffer.from(eventsOf(said, this.dialect, this.names)), type: 'text/event-stream' };
      return { body: Buffer.from(JSON.stringify(this.dialect.answer(said, this.names))), type: 'application/json' };
    } catch {
      throw new ApiError(502, 'The model server answered with no chat completion.', { code: 'upstream_junk' });
    }
  }
}
