import { Context } from '@temporalio/activity';
import type { NotifySpec } from '../../contracts/config/notify-spec';
import type { NoticeInput } from '../../contracts/messages/run';
import { loadAgentSpec } from '../../loaders/agent-spec';
import type { ArtifactStore } from '../../store';
import { failure } from '../../contracts/typed-failure';
import { readPreparedSpec } from '../prepared-spec';
import { postNotice } from './post-notice';
import { slackBody } from './slack-message';
import { type WebhookSettings, webhookTarget } from '../endpoints/webhook-target';

/** What `sendNotice` needs. */
export interface NotifyDeps {
  store: ArtifactStore;
  webhook: WebhookSettings;
}

/** Activity: posts to an agent's webhook the reason of a run's wait, or its end. */
export async function sendNotice({ store, webhook }: NotifyDeps, input: NoticeInput): Promise<void> {
  const target = webhookTarget(await notifyOf(store, input), webhook);
  if (target === null) throw failure('Notify.Refused', 'There is no webhook any more: WHET_WEBHOOK_URL is not set.');
  await postNotice(target, input.id, slackBody(input), Context.current().cancellationSignal);
}

async function notifyOf(store: ArtifactStore, { spec, specPath }: NoticeInput): Promise<NotifySpec> {
  if (spec !== null) return (await readPreparedSpec(store, spec)).spec.notify;
  try {
    return loadAgentSpec(specPath).notify;
  } catch (error) {
    throw failure('Notify.Refused', `The webhook is not known: ${(error as Error).message}`);
  }
}
