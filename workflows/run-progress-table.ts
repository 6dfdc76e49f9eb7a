/** The stage table of a run: what opening the Temporal UI, or `whet why`, shows. */
import { CancelledFailure, log, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import { SEARCH_ATTRIBUTES, type StageName, STAGES, type RunOutcome } from '../contracts/names';
import type { StageTiming } from '../contracts/messages/run-context';
import type { StageStatus, RunProgress } from '../contracts/messages/run';

const stageKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.stage, 'KEYWORD');
const verdictKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.verdict, 'KEYWORD');
const agentKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, 'KEYWORD');

interface Row {
  name: StageName;
  status: 'waiting' | 'running' | 'done' | 'skipped' | 'failed';
  detail: string;
  startedMs: number | null;
  seconds: number | null;
}

/** Keeps the table, the current details and the search attributes of one run up to date. Times are workflow time. */
export class RunProgressTable {
  private readonly rows: Row[] = STAGES.map((name) => ({
    name,
    status: 'waiting',
    detail: '',
    startedMs: null,
    seconds: null,
  }));
  private readonly notes: Record<string, string> = {};
  private readonly waits: Record<string, string> = {};

  constructor(
    private readonly runId: string,
    private readonly agent: string,
  ) {
    upsertSearchAttributes([
      { key: agentKey, value: agent },
      { key: verdictKey, value: 'running' satisfies RunOutcome },
    ]);
    this.show();
  }

  /** Runs a stage; `describe` says in a line what came out. A failure is written into the table and thrown on. */
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

  skip(name: StageName, why: string): void {
    this.finish(this.row(name), 'skipped', why);
  }

  detail(name: StageName, detail: string): void {
    this.row(name).detail = detail;
    this.show();
  }

  note({ key, text, waitingFor }: StageStatus): void {
    if (text) this.notes[key] = text;
    if (waitingFor === null) delete this.waits[key];
    else this.waits[key] = waitingFor;
    this.show();
  }

  verdict(verdict: RunOutcome): void {
    upsertSearchAttributes([{ key: verdictKey, value: verdict }]);
    log.info('run ended', { verdict });
  }

  timings(): StageTiming[] {
    return this.rows.flatMap((r) => {
      if (r.status === 'waiting') return [];
      const seconds = r.seconds ?? (r.startedMs === null ? 0 : (Date.now() - r.startedMs) / 1000);
      return [{ name: r.name, seconds, status: r.status === 'running' ? 'done' : r.status }];
    });
  }

  progress(): RunProgress {
    const waiting = Object.entries(this.waits).map(([key, reason]) => `${key}: ${reason}`);
    return {
      runId: this.runId,
      agent: this.agent,
      stages: this.rows.map(({ name, status, detail, seconds }) => ({
        name,
        status: status === 'running' && waiting.length > 0 ? 'paused' : status,
        detail:
          detail ||
          (name === 'sharpen' && status === 'running'
            ? Object.entries(this.notes)
                .map(([k, v]) => `${k}: ${v}`)
                .join('; ')
            : ''),
        seconds,
      })),
      waitingFor: waiting.length > 0 ? waiting.join('\n') : null,
    };
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
    const table = stages.map(
      (s) =>
        `| ${s.name} | ${s.status} | ${s.seconds === null ? '' : `${s.seconds.toFixed(1)} s`} | ${s.detail.replaceAll('|', '\\|')} |`,
    );
    const wait = waitingFor === null ? '' : `\n\n**Waiting for a person.** ${waitingFor}`;
    setCurrentDetails(
      `**${this.agent}** · ${this.runId}\n\n| stage | status | time | detail |\n|---|---|---|---|\n${table.join('\n')}${wait}`,
    );
  }
}
