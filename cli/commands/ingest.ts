import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { ConversationFormat } from '../../contracts/artifacts/conversation';
import { REDACTION_RULES, type RedactionRule } from '../../contracts/config/analyst-spec';
import { pluralise } from '../../contracts/pluralise';
import { createRedaction } from '../../contracts/redact-message';
import { type FormatCounts, ingest, type IngestResult, type LeftOutFor, parsePassRule, InputFault } from '../../ingest';
import { isMissing, LocalStore } from '../../store';
import { requireAgentName } from '../agent-name';
import type { Context } from '../context';
import { CliError } from '../errors';
import { table } from '../output';

/** Flags of `whet ingest`. */
export interface IngestFlags {
  agent: string;
  format?: ConversationFormat;
  outcomes?: string;
  pass?: string;
  redact?: string;
}

/**
 * `whet ingest FILES... --agent NAME [--format F] [--outcomes FILE] [--pass RULE] [--redact RULES]`: stores the
 * conversations in the files, and what came of them, and says how many it found, which had an outcome and what was left
 * out. What is stored already is not stored again.
 * @throws CliError (exit 2) for a name, a rule or a file that cannot be used.
 */
export async function ingestCommand(context: Context, files: string[], flags: IngestFlags): Promise<void> {
  const result = await ingestFiles(context, files, flags);
  context.out.result({ agent: flags.agent, ...result }, ingestText(flags.agent, result));
}

/** Does what `whet ingest` does, without its text. @throws as `ingestCommand`. */
export async function ingestFiles(
  { settings, out }: Context,
  files: readonly string[],
  flags: IngestFlags,
): Promise<IngestResult> {
  const { agent, format = null, outcomes = null } = flags;
  requireAgentName(agent);
  const pass = flags.pass === undefined ? null : parsePassRule(flags.pass);
  if (flags.pass !== undefined && pass === null)
    throw usage('--pass', flags.pass, "a score with >=, <= or = and a value, as 'correctness>=0.7'");
  const redact = createRedaction({ redact: rulesOf(flags.redact), redactPatterns: [] });
  for (const file of files) await statOf(file);
  if (outcomes !== null && !(await statOf(outcomes)).isFile()) throw usage('--outcomes', outcomes, 'a file');
  const result = await ingest(new LocalStore(settings.storeRoot), {
    ...{ agent, files, format, outcomes, pass, redact, now: Date.now() },
    onProgress: (records) => out.redraw([`${records} records read`]),
  }).catch((error: unknown) => {
    // Faults of other files are counted.
    if (error instanceof InputFault) throw usage('--outcomes', outcomes ?? '', `readable: ${error.message}`);
    throw error;
  });
  out.redraw([]);
  return result;
}

const usage = (flag: string, value: string, allowed: string): CliError =>
  new CliError(`${flag} ${JSON.stringify(value)}: must be ${allowed}.`, { exitCode: 2, type: 'Cli.Usage' });

function rulesOf(text = ''): RedactionRule[] {
  const names = text.split(/[\s,]+/).filter((name) => name !== '');
  const unknown = names.find((name) => !REDACTION_RULES.includes(name as RedactionRule));
  if (unknown !== undefined) throw usage('--redact', unknown, `some of ${REDACTION_RULES.join(', ')}`);
  return names as RedactionRule[];
}

/** @throws CliError (exit 2) for a path at which there is nothing. */
async function statOf(file: string): Promise<Stats> {
  try {
    return await stat(file);
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new CliError(`${file}: there is no such file or folder.`, { exitCode: 2, type: 'Cli.Usage' });
  }
}

/** What was ingested, and what was left out. */
export function ingestText(agent: string, result: IngestResult): string {
  const { formats, files, outcomes, decidedBy, noOutcome, rejected } = result;
  const known = formats.filter(({ format }) => format !== null);
  const unread = formats.find(({ format }) => format === null);
  const columns = ['format', 'files', 'conversations', 'new', 'with outcome', 'without', 'left out'];
  const rows = known.map(({ format, files, conversations, added, withOutcome, withoutOutcome, leftOut }) =>
    [format, files, conversations, added, withOutcome, withoutOutcome, sum(leftOut)].map(String),
  );
  const sum0 = (field: 'conversations' | 'added' | 'known' | 'withoutOutcome') =>
    known.reduce((all, counts) => all + counts[field], 0);
  return [
    `${agent}: ${pluralise(sum0('conversations'), 'conversation')} in ${pluralise(files, 'file')}: ` +
      `${sum0('added')} new, ${sum0('known')} stored before; ${pluralise(outcomes, 'new outcome')}.`,
    ...(rows.length > 0 ? ['', table([columns, ...rows], [1, 2, 3, 4, 5, 6])] : []),
    ...[...known, ...(unread ? [unread] : [])].flatMap(leftOutLines),
    ...(decidedBy.length > 0 ? ['', `Outcomes were read from ${decidedBy.map(decisionOf).join(', ')}.`] : []),
    ...(noOutcome.length > 0 ? ['', 'No outcome:', ...noOutcome.map(lineOf)] : []),
    ...(rejected === null ? [] : ['', `Lines that could not be read are kept in the store: ${rejected}`]),
    ...(sum0('withoutOutcome') > 0
      ? ['', 'Conversations without an outcome show nothing: give --outcomes FILE, or --pass with a score.']
      : []),
  ].join('\n');
}

const decisionOf = ({ name, from, count }: IngestResult['decidedBy'][number]): string =>
  `'${name}' of ${from === 'file' ? 'the file' : 'the traces'} (${count})`;

const sum = (leftOut: readonly LeftOutFor[]): number => leftOut.reduce((all, { count }) => all + count, 0);

const leftOutLines = ({ format, leftOut }: FormatCounts): string[] =>
  leftOut.length === 0 ? [] : ['', `Left out${format === null ? '' : ` (${format})`}:`, ...leftOut.map(lineOf)];

const lineOf = ({ reason, count, places }: LeftOutFor): string =>
  `  ${count} x ${reason}${places.length > 0 ? ` (${places.join(', ')}${count > places.length ? ', ...' : ''})` : ''}`;
