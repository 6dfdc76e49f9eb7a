import { CancelledFailure, log, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { RunProgress, StageStatus } from '../contracts/messages/run';
import type { StageTiming } from '../contracts/messages/run-context';
import { type RunOutcome, SEARCH_ATTRIBUTES, type StageName, STAGES } from '../contracts/names';

const stageKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.stage, 'KEYWORD');
const outcomeKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.verdict, 'KEYWORD');
const agentKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, 'KEYWORD');

interface Row {
  name: StageName;
  status: 'waiting' | 'running' | 'done' | 'skipped' | 'failed';
  detail: string;
  startedMs: number | null;
  seconds: number | null;
}

/**
 * The stages of one run with their status: what the Temporal UI and `whet why` show. Every change goes into the current
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
  /** Last line of each capability and stage that reports. */
  private readonly texts: Record<string, string> = {};
  /** What each of them waits for. */
  private readonly waits: Record<string, string> = {};

  constructor(
    private readonly runId: string,
    private readonly agent: string,
  ) {
    upsertSearchAttributes([
      { key: agentKey, value: agent },
      { key: outcomeKey, value: 'running' satisfies RunOutcome },
    ]);
    this.show();
  }

  /**
   * Runs a stage; `describe` puts its result into a line. A failure goes into the table and is thrown again.
   */
  async run<T>(name: StageName, action: () => Promise<T>, describe: (result: T) => string): Promise<T> {
    const row = this.row(name);
    row.status = 'running';
    row.startedMs ??= Date.now();
    upsertSearchAttributes([{ key: stageKey, value: name }]);
    this.show();
    try {
      const result = await action();
      this.finish(row, 'done', describe(result));
      return result;
    } catch (error) {
      this.finish(row, 'failed', error instanceof CancelledFailure ? 'cancelled' : 'failed');
      throw error;
    }
  }

  /** Marks a stage as left out, with the reason. */
  skip(name: StageName, reason: string): void {
    this.finish(this.row(name), 'skipped', reason);
  }

  /** Takes over a status. An empty text leaves the last one. */
  update({ key, text, waitingFor }: StageStatus): void {
    if (text) this.texts[key] = text;
    if (waitingFor === null) delete this.waits[key];
    else this.waits[key] = waitingFor;
    this.show();
  }

  /** Records what the run ended with. */
  end(outcome: RunOutcome): void {
    upsertSearchAttributes([{ key: outcomeKey, value: outcome }]);
    log.info('run ended', { verdict: outcome });
  }

  /** The stages that have begun, for the report. A stage still running counts as done, with its time so far. */
  timings(): StageTiming[] {
    return this.rows.flatMap((r) => {
      if (r.status === 'waiting') return [];
      const seconds = r.seconds ?? (r.startedMs === null ? 0 : (Date.now() - r.startedMs) / 1000);
      return [{ name: r.name, seconds, status: r.status === 'running' ? 'done' : r.status }];
    });
  }

  /** The table as data. */
  progress(): RunProgress {
    const waiting = Object.entries(this.waits).map(([key, reason]) => `${key}: ${reason}`);
    return {
      runId: this.runId,
      agent: this.agent,
      stages: this.rows.map((row) => ({
        name: row.name,
        status: row.status === 'running' && waiting.length > 0 ? 'paused' : row.status,
        detail: row.detail || (row.name === 'sharpen' && row.status === 'running' ? this.allTexts() : ''),
        seconds: row.seconds,
      })),
      waitingFor: waiting.length > 0 ? waiting.join('\n') : null,
    };
  }

  private allTexts(): string {
    return Object.entries(this.texts)
      .map(([key, text]) => `${key}: ${text}`)
      .join('; ');
  }

  private row(name: StageName): Row {
    return this.rows[STAGES.indexOf(name)] as Row;
  }

  private finish(row: Row, status: Row['status'], detail: string): void {
    row.status = status;
    row.detail = detail;
    row.seconds = row.startedMs === null ? 0 : (Date.now() - row.startedMs) / 1000;
    this.show();
  }

  private show(): void {
    const { stages, waitingFor } = this.progress();
    const rows = stages.map(({ name, status, seconds, detail }) => {
      const time = seconds === null ? '' : `${seconds.toFixed(1)} s`;
      return `| ${name} | ${status} | ${time} | ${detail.replaceAll('|', '\\|')} |`;
    });
    const head = `**${this.agent}** · ${this.runId}\n\n| stage | status | time | detail |\n|---|---|---|---|`;
    const wait = waitingFor === null ? '' : `\n\n**Waiting for a person.** ${waitingFor}`;
    setCurrentDetails(`${head}\n${rows.join('\n')}${wait}`);
  }
}
