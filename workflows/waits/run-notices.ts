import { CancellationScope, ParentClosePolicy, startChild } from '@temporalio/workflow';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { Notice, NoticeInput } from '../../contracts/messages/run';
import { childWorkflowId, WORKFLOWS } from '../../contracts/names';
import type { deliverNotice } from './deliver-notice';
import { singleLine } from '../shared/single-line';

/** Longest reason in a notice, in characters. */
const MAX_REASON = 1_500;
/** Most reasons in a notice. */
const MAX_REASONS = 10;

/**
 * Sends notices to the agent's webhook: the reasons of a run's waits, and its end. Does nothing until `open` is called.
 */
export class RunNotices {
  private target: Pick<NoticeInput, 'spec' | 'specPath'> | null = null;
  private count = 0;
  private readonly starting: Promise<unknown>[] = [];

  constructor(
    private readonly runId: string,
    private readonly agent: string,
  ) {}

  /** Sets the webhook; null stops the notices. */
  open(target: { spec: ArtifactRef | null; specPath: string } | null): void {
    this.target = target;
  }

  /** Starts the delivery of a notice. Never throws, and does not block. */
  send(notice: Pick<Notice, 'kind'> & Partial<Notice>): void {
    if (this.target === null) return;
    const id = childWorkflowId.notice(this.runId, ++this.count);
    const reasons = (notice.reasons ?? []).slice(0, MAX_REASONS).map((reason) => singleLine(reason, MAX_REASON));
    const none = { key: null, who: null, outcome: null, promotedVersion: null, atMs: Date.now() };
    const input: NoticeInput = {
      id,
      runId: this.runId,
      agent: this.agent,
      ...this.target,
      notice: { ...none, ...notice, reasons },
    };
    // The end of a cancelled run sends a notice, too.
    const started = CancellationScope.nonCancellable(() =>
      startChild<typeof deliverNotice>(WORKFLOWS.deliverNotice, {
        workflowId: id,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        staticSummary: `notice ${this.count}: ${notice.kind}`,
        args: [input],
      }),
    );
    this.starting.push(started.catch(() => undefined));
  }

  /** Resolves once every notice's delivery has started; the run's end would prevent later starts. */
  async begun(): Promise<void> {
    await Promise.all(this.starting);
  }
}
