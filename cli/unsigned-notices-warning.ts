import type { NotifySpec } from '../contracts/config/notify-spec';

/**
 * The sentence for an agent whose notices are posted unsigned, according to the variables of this shell. Null if there
 * is no webhook, or if there is a key. A worker on another machine has its own variables.
 */
export function unsignedNoticesWarning({ webhook, keyVariable }: NotifySpec): string | null {
  const isSet = (variable: string) => (process.env[variable] ?? '') !== '';
  if ((webhook === undefined && !isSet('WHET_WEBHOOK_URL')) || isSet(keyVariable)) return null;
  const where = webhook === undefined ? 'WHET_WEBHOOK_URL' : 'notify.webhook';
  return (
    `Notices to ${where} are not signed, because ${keyVariable} is not set here: to sign them, set it to a secret ` +
    'that the receiver knows, where the worker runs, and start the worker again.'
  );
}
