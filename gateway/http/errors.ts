import { openAiError, type OpenAiErrorBody } from '../../contracts/messages/openai-error';

/**
 * An error that the client gets as an answer in OpenAI's format. Its message must not contain stacks, paths or bodies
 * of model servers.
 */
export class ApiError extends Error {
  /** Headers of this answer, in addition to the headers of every answer. */
  readonly headers: Record<string, string>;

  constructor(
    readonly status: number,
    message: string,
    private readonly details: { code?: string | null; param?: string | null; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.headers = details.headers ?? {};
  }

  /** The answer's body. */
  body(): OpenAiErrorBody {
    const { param = null, code = null } = this.details;
    return openAiError(this.message, typeOf(this.status), param, code);
  }
}

/** OpenAI's error type for a status. */
function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}
