import { Agent, EnvHttpProxyAgent, request, type Dispatcher } from 'undici';
import { parseLenient } from '../contracts/lenient-json';
import { readErrorBody } from '../contracts/messages/read-error';
import { isLoopback } from './loopback';

/**
 * Makes a `fetch` for the `openai` client from undici's `request`: a label call then costs about half the processor
 * time of the global fetch. It keeps `connections` connections open, uses HTTPS_PROXY and NO_PROXY except for this
 * machine itself, and follows no redirects. The client sets the time limits.
 */
export function createTransport(
  baseUrl: string,
  connections: number,
): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  const options = { connections, headersTimeout: 0, bodyTimeout: 0 };
  const dispatcher: Dispatcher = isLoopback(baseUrl) ? new Agent(options) : new EnvHttpProxyAgent(options);
  return async (url, init = {}) => {
    const { body, headers: sent } = await encoded(init);
    const response = await request(url instanceof Request ? url.url : url, {
      method: init.method ?? 'GET',
      headers: { 'accept-encoding': 'identity', ...sent },
      body,
      signal: init.signal ?? null,
      dispatcher,
    });
    const headers = new Headers();
    for (const [name, value] of Object.entries(response.headers))
      for (const item of [value ?? []].flat()) headers.append(name, item);
    const { statusCode: status } = response;
    const text = await response.body.text();
    // The client reads JSON only where it is called so, and errors only in OpenAI's form.
    if (status >= 400) return new Response(errorText(text), { status, headers });
    if (text.trimStart().startsWith('{')) headers.set('content-type', 'application/json');
    const lenient = /\b(?:NaN|Infinity)\b/.test(text) ? parseLenient(text) : undefined;
    const read = lenient === undefined ? text : JSON.stringify(lenient);
    return new Response(status === 204 || status === 304 ? null : read, { status, headers });
  };
}

/** The body of an error in OpenAI's form. */
function errorText(text: string): string {
  const error = readErrorBody(text);
  return error.message === '' && error.code === null ? text : JSON.stringify({ error });
}

/**
 * Body and headers for undici. A body that is not text, such as the form of a file upload, is encoded by the platform,
 * which also sets its content type.
 */
async function encoded({
  body,
  headers,
}: RequestInit): Promise<{ body: string | Buffer | null; headers: Record<string, string> }> {
  const own = Object.fromEntries(new Headers(headers));
  if (body === undefined || body === null || typeof body === 'string') return { body: body ?? null, headers: own };
  const form = new Response(body);
  const type = form.headers.get('content-type');
  return {
    body: Buffer.from(await form.arrayBuffer()),
    headers: { ...own, ...(type === null ? {} : { 'content-type': type }) },
  };
}
