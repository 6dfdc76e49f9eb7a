import { CancellationScope, log, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import type {
  FailingStatus,
  RepeatedFailure,
  RunProgress,
  RunWait,
  StageStatus,
  WaitDeadlines,
} from '../../contracts/messages/run';
import type { StageTiming } from '../../contracts/messages/run-context';
import { type RunOutcome, SEARCH_ATTRIBUTES, type StageName, STAGES, type WaitingFor } from '../../contracts/names';
import { cleanMarkdown } from '../../contracts/clean-text';
import { shortLines, singleLine } from '../shared/single-line';
import type { RunNotices } from './run-notices';
import { deadlineOf, sinceLastProgress } from './wait-deadlines';

const stageKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.stage, 'KEYWORD');
const outcomeKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.verdict, 'KEYWORD');
const agentKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, 'KEYWORD');
const waitingKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.waiting, 'KEYWORD');

/** Longest text of one capability and of one stage in the table, in characters. */
const MAX_TEXT = 300;
const MAX_DETAIL = 2_000;

const WHO: Record<WaitingFor, string> = {
  operator: 'for the operator',
  owner: "for the agent's owner",
  cluster: 'for the cluster',
  approval: 'for an approval',
  'repeated-failure': 'goes on by itself',
};

/** `waiting` would be ambiguous: it could mean a wait for an earlier stage or for a person. */
const STATUS_TEXT: Record<RunProgress['stages'][number]['status'], string> = {
  waiting: 'to\u00a0come',
  running: 'running',
  paused: 'waits',
  done: 'done',
  skipped: 'skipped',
  failed: 'failed',
  cancelled: 'cancelled',
};

/** A space that does not break: the UI puts no space between the columns of a table. */
const GAP = '\u00a0';

interface Row {
  name: StageName;
  status: 'waiting' | 'running' | 'done' | 'skipped' | 'failed' | 'cancelled';
  detail: string;
  startedMs: number | null;
  seconds: number | null;
}

/**
 * The stages of one run with their status, for the Temporal UI and `whet why`. Every change goes into the current
 * details and the search attributes of the workflow. Times are workflow time.
 */
export class RunProgressTable {
  private readonly rows: Row[] = STAGES.map((name) => ({
    name,
    status: 'waiting',
    detail: '',
    startedMs: null,
    seconds: null,
  }));
  /** Last line of each capability in the running stage. */
  private texts: Record<string, string> = {};
  /** Activities of the running stage that keep failing. */
  private failing: Record<string, RepeatedFailure> = {};
  /** Keys of parts that run in parallel with the stages; their lines stay when a stage ends. */
  private readonly beside = new Set<string>();
  private readonly waits: Record<string, RunWait> = {};
  /** Value of the search attribute. */
  private waitingFor: WaitingFor | '' = '';

  /** Maximum waiting times; null: no limit. */
  deadlines: WaitDeadlines | null = null;

  constructor(
    private readonly runId: string,
    private readonly agent: string,
    private readonly notices: RunNotices,
  ) {
    upsertSearchAttributes([
      { key: agentKey, value: agent },
      { key: outcomeKey, value: 'running' satisfies RunOutcome },
    ]);
    this.show();
  }

  /**
   * Runs a stage; `describe` summarises its result in a line. A failure is recorded in the table and thrown again. A
   * stage that ran before continues, and its time counts from its first start.
   */
  async run<T>(name: StageName, action: () => Promise<T>, describe: (result: T) => string): Promise<T> {
    const row = this.row(name);
    row.status = 'running';
    row.startedMs = row.seconds === null ? (row.startedMs ?? Date.now()) : Date.now() - row.seconds * 1000;
    upsertSearchAttributes([{ key: stageKey, value: name }]);
    this.show();
    try {
      const result = await action();
      this.finish(row, 'done', describe(result));
      return result;
    } catch (error) {
      this.finish(row, CancellationScope.current().consideredCancelled ? 'cancelled' : 'failed', '');
      throw error;
    }
  }

  /** Marks a stage as left out, with the reason. */
  skip(name: StageName, reason: string): void {
    this.finish(this.row(name), 'skipped', reason);
  }

  /** Records a status. An empty text keeps the last one. */
  update({ key, text, waitingFor, who = 'operator' }: StageStatus): void {
    if (text) this.texts[key] = singleLine(text, MAX_TEXT);
    if (waitingFor === null) delete this.waits[key];
    else {
      const reason = shortLines(waitingFor, MAX_DETAIL);
      this.waits[key] = { key, reason, sinceMs: Date.now(), who };
      this.notices.send({ kind: 'waits', key, who, reasons: [reason] });
    }
    this.show();
  }

  /** Keeps the line of a parallel part until the returned function is called. */
  keepLine(key: string): () => void {
    this.beside.add(key);
    return () => void this.beside.delete(key);
  }

  /** Records that an activity keeps failing, or has recovered. */
  updateFailing(status: FailingStatus): void {
    if (status.attempts === null) delete this.failing[status.key];
    else {
      const { key, sinceMs } = status;
      const reason = singleLine(status.reason, MAX_TEXT);
      // A further attempt is not a new failure.
      if (this.failing[key]?.sinceMs !== sinceMs) this.notices.send({ kind: 'fails', key, reasons: [reason] });
      this.failing[key] = { ...status, reason, stillSinceMs: sinceLastProgress(this.failing[key], status, Date.now()) };
    }
    this.show();
  }

  /** The running stage; `prepare` before the first one. */
  get current(): StageName | 'prepare' {
    return this.rows.findLast(({ status }) => status === 'running')?.name ?? 'prepare';
  }

  /** A sentence that says where the run was cancelled. */
  get cancelledText(): string {
    return `Cancelled in stage ${this.rows.find(({ status }) => status === 'cancelled')?.name ?? 'prepare'}.`;
  }

  /** The waits for a person, the longest first. */
  get waiting(): RunWait[] {
    return Object.values(this.waits).map((wait) => {
      const untilMs = deadlineOf(wait, this.deadlines);
      return untilMs === null ? wait : { ...wait, untilMs };
    });
  }

  /** The repeated failures. */
  get repeatedFailures(): RepeatedFailure[] {
    return Object.values(this.failing);
  }

  /** Records the outcome of the run. */
  end(outcome: RunOutcome): void {
    for (const key of Object.keys(this.waits)) delete this.waits[key];
    this.failing = {};
    this.show();
    upsertSearchAttributes([{ key: outcomeKey, value: outcome }]);
    log.info('run ended', { verdict: outcome });
  }

  /** The stages that have begun, for the report. A stage still running counts as done, with its time so far. */
  timings(): StageTiming[] {
    return this.rows.flatMap((r) => {
      if (r.status === 'waiting' || r.status === 'cancelled') return [];
      const seconds = r.seconds ?? (r.startedMs === null ? 0 : (Date.now() - r.startedMs) / 1000);
      return [{ name: r.name, seconds, status: r.status === 'running' ? 'done' : r.status }];
    });
  }

  /** The table as data. */
  progress(): RunProgress {
    const waits = this.waiting;
    return {
      runId: this.runId,
      agent: this.agent,
      stages: this.rows.map((row) => ({
        name: row.name,
        status: row.status === 'running' && waits.length > 0 ? 'paused' : row.status,
        detail: row.status === 'running' ? this.liveDetail() : row.detail,
        seconds: row.seconds,
      })),
      waitingFor: waits.length > 0 ? waits.map(({ key, reason }) => `${key}: ${reason}`).join('\n') : null,
      waits,
      failing: this.repeatedFailures,
    };
  }

  /** The current work of the running stage: the last line of each part, and its repeated failures. */
  private liveDetail(): string {
    const failing = Object.values(this.failing).map(
      ({ key, attempts, sinceMs, reason }) =>
        `${key} has failed at least ${attempts} times since ${timeOf(sinceMs)}: ${reason}`,
    );
    const texts = Object.entries(this.texts).map(([key, text]) => `${key}: ${text}`);
    return singleLine([...failing, ...texts].join('; '), MAX_DETAIL);
  }

  private row(name: StageName): Row {
    return this.rows[STAGES.indexOf(name)] as Row;
  }

  private finish(row: Row, status: Row['status'], detail: string): void {
    row.status = status;
    row.detail = singleLine(detail, MAX_DETAIL);
    row.seconds = row.startedMs === null ? 0 : (Date.now() - row.startedMs) / 1000;
    // These lines belong to the stage that has ended.
    this.texts = Object.fromEntries(Object.entries(this.texts).filter(([key]) => this.beside.has(key)));
    this.failing = {};
    this.show();
  }

  private show(): void {
    const { stages } = this.progress();
    const rows = stages.map(({ name, status, seconds, detail }) => {
      const time = seconds === null ? '' : `${seconds.toFixed(1)}${GAP}s`;
      const cells = [name, STATUS_TEXT[status], time].map((cell) => `${cell}${GAP}${GAP}`);
      return `| ${cells.join(' | ')} | ${cleanMarkdown(detail)} |`;
    });
    const head = `**${cleanMarkdown(this.agent)}** · ${cleanMarkdown(this.runId)}\n\n| stage | status | time | detail |\n|:--|:--|:--|:--|`;
    const waits = this.waiting.map(
      ({ key, reason, sinceMs, untilMs, who }) =>
        `- **${cleanMarkdown(key)}**, ${WHO[who]}, since ${timeOf(sinceMs)}` +
        `${untilMs === undefined ? '' : `, until ${timeOf(untilMs)}`}: ${cleanMarkdown(reason)}`,
    );
    const wait = waits.length === 0 ? '' : `\n\n**Waiting for a person.**\n\n${waits.join('\n')}`;
    setCurrentDetails(`${head}\n${rows.join('\n')}${wait}`);
    this.showWaiting();
  }

  private showWaiting(): void {
    const value = this.waiting[0]?.who ?? (Object.keys(this.failing).length > 0 ? 'repeated-failure' : '');
    if (value === this.waitingFor) return;
    this.waitingFor = value;
    upsertSearchAttributes([{ key: waitingKey, value }]);
  }
}

/** A time of the day that is the same for every reader: `2026-03-01 14:03 UTC`. */
function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
