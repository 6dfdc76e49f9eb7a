import type { Dialect } from '../../dialects';

/**
 * An error that the client gets as an answer in its dialect's format. Its message must not contain stacks, paths or
 * bodies of model servers.
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
  body(dialect: Dialect): object {
    const { param = null, code = null } = this.details;
    return dialect.error(this.status, this.message, param, code);
  }
}
