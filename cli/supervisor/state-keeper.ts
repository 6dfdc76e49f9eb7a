import { standardError } from '../output';
import { diskProblem } from './disk';
import type { Plan } from './plan';
import { isStateKept, removeSupervisorState, type SupervisorState, writeSupervisorState } from './supervisor-state';

/** Time between two checks of the disk; a state that could not be written is then written again. */
const LOOK_MS = 2_000;

/**
 * Keeps a supervisor's state in its file. A failed write ends nothing: it is repeated until it succeeds. If the file
 * was damaged or removed, it is written again. Meanwhile the supervisor itself answers questions (`askSupervisor`).
 */
export class StateKeeper {
  private timer: NodeJS.Timeout | null = null;
  private said: string | null = null;

  constructor(
    private readonly plan: Pick<Plan, 'home' | 'storeRoot'>,
    private readonly state: SupervisorState,
  ) {}

  /** Writes the state. From then on, writes it again whenever the file differs. */
  start(): void {
    this.look();
    this.timer = setInterval(() => this.look(), LOOK_MS);
  }

  /** Writes the state now, if that is possible. Never throws. */
  save(): void {
    try {
      writeSupervisorState(this.plan.home, this.state);
    } catch (error) {
      this.say(`The state could not be written and is tried again: ${(error as Error).message}`);
    }
  }

  /** Stops the checks and removes the file, because no service is up any more. Never throws. */
  end(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    try {
      removeSupervisorState(this.plan.home);
    } catch (error) {
      this.say(`The state could not be removed: ${(error as Error).message}`);
    }
  }

  private look(): void {
    const { home, storeRoot } = this.plan;
    this.state.disk = diskProblem(home, 'WHET_HOME') ?? diskProblem(storeRoot, 'WHET_STORE');
    if (this.state.disk !== null) this.say(this.state.disk);
    if (!isStateKept(home, this.state)) this.save();
    else if (this.state.disk === null) this.said = null;
  }

  /** Writes to the log, once for each problem. The log may be on the same disk; then only this message is lost. */
  private say(text: string): void {
    if (this.said === text) return;
    this.said = text;
    standardError.write(`${new Date().toISOString()} ${text}\n`);
  }
}
