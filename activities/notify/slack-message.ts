import type { RunOutcome } from '../../contracts/names';
import type { NoticeInput } from '../../contracts/messages/run';
import { startOf, wellFormed } from '../../contracts/clean-text';

/** Longest text of a block and of a message, in characters. Slack accepts 3,000 in a block. */
const MAX_TEXT = 2_500;

const WAITS_FOR: Record<string, string> = {
  operator: 'waits for the operator',
  owner: "waits for the agent's owner",
  cluster: 'waits for the cluster',
  approval: 'waits for an approval',
};

const ENDED: Record<RunOutcome, string> = {
  running: 'is running',
  promoted: 'was promoted',
  'not-promoted': 'ended without a promotion',
  'nothing-to-sharpen': 'found nothing to sharpen',
  'nothing-trained': 'trained none of the capabilities that it kept',
  diagnosed: 'was diagnosed',
  'nothing-new': 'measured what is served and found nothing new',
  'too-little-power': 'measured what is served on too few tasks to tell',
  expired: 'ended, because nobody answered in time',
  skipped: 'was skipped',
  failed: 'failed',
  cancelled: 'was cancelled',
};

/**
 * The body of a notice: the form of Slack's incoming webhooks, with the same data under `whetstone`. Its bytes are the
 * same in every attempt.
 */
export function slackBody({ id, runId, agent, notice }: NoticeInput): string {
  const { kind, key, who, outcome, reasons, promotedVersion, atMs } = notice;
  const at = new Date(atMs).toISOString();
  const head = `${agent}: ${headline(runId, notice)}`;
  const all = kind === 'ended' ? reasons : reasons.map((reason) => (key === null ? reason : `${key}: ${reason}`));
  // Slack refuses an empty block.
  const lines = all.filter((line) => line.trim() !== '');
  const text = [head, ...lines].join('\n');
  return JSON.stringify({
    text: escaped(text),
    blocks: [
      section(`*${escaped(head)}*`),
      ...(lines.length === 0 ? [] : [section(escaped(lines.join('\n')))]),
      { type: 'context', elements: [{ type: 'mrkdwn', text: `${escaped(runId)} · ${at}` }] },
    ],
    whetstone: { schemaVersion: 1, id, runId, agent, kind, key, who, outcome, reasons, promotedVersion, at },
  });
}

const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } });

function headline(runId: string, { kind, who, outcome, promotedVersion }: NoticeInput['notice']): string {
  if (kind === 'waits') return `run ${runId} ${WAITS_FOR[who ?? 'operator'] ?? 'waits'}`;
  if (kind === 'fails') return `run ${runId} fails again and again, and continues by itself once that works`;
  if (kind === 'costs') return `run ${runId} makes adapters again`;
  const version = promotedVersion === null ? '' : ` as version ${promotedVersion}`;
  return `run ${runId} ${outcome == null ? 'ended' : ENDED[outcome]}${version}`;
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Text in which Slack finds no markup: reasons contain words of models, which must not mention a channel or make a
 * link. The limit is on the escaped length, since Slack refuses the whole notice if one block is too long. The cut
 * never splits an escape or a character.
 */
function escaped(text: string): string {
  const all = wellFormed(text).replace(/[&<>]/g, (character) => ESCAPES[character] as string);
  return all.length <= MAX_TEXT ? all : `${startOf(all, MAX_TEXT - 2)} …`;
}
