import type { NotifySpec } from '../../contracts/config/notify-spec';
import { failure } from '../../contracts/typed-failure';

/** The settings of a worker's operator for webhooks. */
export interface WebhookSettings {
  /** WHET_WEBHOOK_URL: the webhook for agents whose agent.yaml names none. */
  url: string | null;
  /** WHET_WEBHOOK_ENDPOINTS: servers that an agent.yaml may name. */
  endpoints: readonly string[];
  /** The value of a variable whose name begins with WHET_WEBHOOK_SECRET; null if it is not set. */
  secret: (variable: string) => string | null;
}

/** The address of notices, and the secret that signs them; null: no signature. */
export interface WebhookTarget {
  url: string;
  secret: string | null;
}

/**
 * Chooses the webhook of an agent; null if there is none. A tenant writes agent.yaml, and must not reach servers near
 * the worker, such as a cluster's metadata. So the worker's operator names the allowed servers.
 * @throws Notify.Refused
 */
export function webhookTarget({ webhook, keyVariable }: NotifySpec, settings: WebhookSettings): WebhookTarget | null {
  const url = webhook ?? settings.url;
  if (url === null) return null;
  const problem = webhookProblem({ webhook }, settings);
  if (problem !== null) throw failure('Notify.Refused', problem);
  return { url, secret: settings.secret(keyVariable) };
}

/** The problem with the webhook of an agent.yaml; null if it may be used, or if there is none. */
export function webhookProblem(
  { webhook }: Pick<NotifySpec, 'webhook'>,
  { endpoints }: Pick<WebhookSettings, 'endpoints'>,
): string | null {
  if (webhook === undefined) return null;
  const { origin } = new URL(webhook);
  if (endpoints.some((one) => new URL(one).origin === origin)) return null;
  return (
    `notify.webhook is on ${origin}, and this worker may post to ${endpoints.join(', ') || 'no server'}. If notices ` +
    'may go there, name it in WHET_WEBHOOK_ENDPOINTS of the worker (addresses, separated by commas).'
  );
}
