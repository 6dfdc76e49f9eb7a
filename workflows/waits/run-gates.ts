import type { StageStatus } from '../../contracts/messages/run';
import { type Answer, OperatorGate } from './operator-gate';
import type { RunProgressTable } from './run-progress-table';

/** The waits of the run itself: in its stages, and after a child workflow that ended with a failure. */
export class RunGates {
  private readonly gates = new Map<string, OperatorGate>();

  constructor(
    private readonly runId: string,
    private readonly table: RunProgressTable,
  ) {}

  /**
   * Runs a step of a stage until it succeeds, and waits for a person after a failure.
   * @param mayEnd whether to throw a failure that nobody can cure. Default: false, the run waits.
   */
  async perform<T>(stage: string, step: () => Promise<T>, { mayEnd = false } = {}): Promise<T> {
    return this.open(stage, `Then: whet retry ${this.runId}`, mayEnd, (gate) => gate.runUntilDone(step));
  }

  /** Runs an optional part of the run. Null when a person skips it. */
  async performUnlessSkipped<T>(key: string, part: () => Promise<T>): Promise<T | null> {
    const commands = `Then: whet retry ${this.runId} ${key}, or whet skip ${this.runId} ${key}`;
    return this.open(key, commands, false, (gate) => gate.runUnlessSkipped(part));
  }

  /** Answers the run's own wait under this key. False if there is none. */
  answer(key: string, answer: Answer): boolean {
    const gate = this.gates.get(key);
    if (gate?.isWaiting !== true) return false;
    gate.answer(answer);
    return true;
  }

  /** Keys under which the run itself waits. */
  get waiting(): string[] {
    return [...this.gates].flatMap(([key, gate]) => (gate.isWaiting ? [key] : []));
  }

  private async open<T>(
    key: string,
    commands: string,
    mayEnd: boolean,
    run: (gate: OperatorGate) => Promise<T>,
  ): Promise<T> {
    const show = async (status: StageStatus) => this.table.update(status);
    const gate = new OperatorGate({ key, commands: () => commands, show, mayEnd });
    this.gates.set(key, gate);
    try {
      return await run(gate);
    } finally {
      this.gates.delete(key);
    }
  }
}
