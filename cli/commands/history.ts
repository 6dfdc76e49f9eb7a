import { pluralise } from '../../contracts/pluralise';
import { failedText } from '../../contracts/failed-episodes';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { agentNameSchema } from '../../contracts/config/agent-name';
import { cleanLine } from '../../contracts/clean-text';
import { LocalStore } from '../../store';
import type { Context } from '../context';
import { CliError } from '../errors';
import { renderHistoryPage } from '../history/history-page';
import {
  type AgentHistory,
  foundText,
  judgedText,
  type Night,
  readHistory,
  retiredText,
} from '../history/read-history';
import { duration, table } from '../output';
import { servedName } from './registry';

/** Flags of `whet history`. */
export interface HistoryFlags {
  html?: string;
}

/**
 * `whet history AGENT [--html FILE]`: the agent's runs that have ended, the oldest first, using only the store. Files
 * that cannot be read are listed, and the exit code is still 0, because the others are shown.
 */
export async function historyCommand(
  { settings, out }: Context,
  agent: string,
  { html }: HistoryFlags = {},
): Promise<void> {
  if (!agentNameSchema.safeParse(agent).success)
    throw new CliError(`${JSON.stringify(agent)} is no agent's name: lower-case letters, digits and dashes.`, {
      type: 'Cli.Usage',
    });
  const history = await readHistory(new LocalStore(settings.storeRoot), agent);
  if (history.nights.length === 0 && history.damaged.length === 0)
    throw new CliError(
      `${agent} has no run that has ended in ${settings.storeRoot}; or WHET_HOME or WHET_STORE points elsewhere.`,
      { type: 'History.Empty' },
    );
  const written = html === undefined ? null : resolve(html);
  if (written !== null) await writePage(written, renderHistoryPage(history));
  const page = written === null ? {} : { html: written };
  out.result({ ...history, ...page }, [historyText(history), ...(written === null ? [] : [written])].join('\n\n'));
}

async function writePage(path: string, page: string): Promise<void> {
  try {
    await writeFile(path, page);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const problems: Record<string, string> = {
      ENOENT: 'its folder is not there',
      ENOTDIR: 'a part of it is a file where a folder is needed',
      EISDIR: 'it is a folder',
      EACCES: 'it may not be written',
      EROFS: 'it may not be written',
    };
    throw new CliError(`--html ${path}: ${problems[code] ?? message}. Name a file that can be written.`, {
      type: 'Cli.Usage',
      cause: error,
    });
  }
}

function historyText({ agent, nights, active, damaged }: AgentHistory): string {
  const head = ['night', 'began', 'outcome', 'found', 'fixed', 'reused', 'retired', 'version', 'gain'];
  const more = ['judged', 'spend', 'minutes', 'run'];
  const rows = nights.map((night) => [
    night.night === null ? '-' : String(night.night),
    night.startedAt.slice(0, 16).replace('T', ' '),
    night.outcome,
    list(foundText(night)),
    list(night.fixed),
    list(night.reused.map(({ name }) => name)),
    night.retired === null ? '?' : list(retiredText(night)),
    night.version === null ? '' : String(night.version),
    gainText(night),
    judgedText(night),
    spendText(night),
    night.minutes.toFixed(1),
    night.runId,
  ]);
  // A night without figures gives the reason in a sentence.
  const silent = nights.filter(({ spend }) => spend === null);
  const reasons = silent.flatMap(({ runId, reasons: [reason] }) => (reason ? [`${runId}: ${cleanLine(reason)}`] : []));
  const minutes = nights.reduce((sum, night) => sum + night.minutes, 0);
  return [
    table([[...head, ...more], ...rows], [0, 6, 10]),
    ...reasons,
    `${agent}: ${pluralise(nights.length, 'run')}, ${duration(minutes * 60)}; ${servedName(active)} serves now`,
    ...damaged.map(({ file, problem }) => `Left out, because it is damaged: ${file}: ${problem}`),
  ].join('\n');
}

/** The names come from the analyst, so they must not control the terminal or break the table. */
const list = (names: readonly string[]) => cleanLine(names.join('; ')) || '-';

/** `+36.8 [+32.9, +40.7]`, in percentage points, and the episodes that are in no figure. */
function gainText({ gain, failed }: Night): string {
  const points = (share: number) => `${share < 0 ? '-' : '+'}${Math.abs(share * 100).toFixed(1)}`;
  const gained = gain === null ? [] : [`${points(gain.estimate)} [${points(gain.low)}, ${points(gain.high)}]`];
  return cleanLine([...gained, ...(failed ? [failedText(failed)] : [])].join('; '));
}

function spendText({ spend }: Night): string {
  if (spend === null) return '';
  const parts = [
    pluralise(spend.rollouts + spend.trainingRollouts, 'rollout'),
    `${pluralise(spend.analystCalls, 'call')} and ${spend.analystTokens} tokens of the analyst`,
    `${spend.modelTokens} tokens of the model`,
    ...(spend.usd === null ? [] : [`$${spend.usd.toFixed(2)}`]),
  ];
  return parts.join(', ');
}
