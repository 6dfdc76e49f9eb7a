import { standardError } from '../output';
import { diskProblem } from './disk';
import type { Plan } from './plan';
import { isStateKept, removeSupervisorState, type SupervisorState, writeSupervisorState } from './supervisor-state';

/** How often the disk is looked at, and a state that could not be written is written again. */
const LOOK_MS = 2_000;

/**
 * Keeps a supervisor's state in its file. A write that fails ends nothing: it is repeated until it succeeds, and so is
 * one whose file was damaged or removed. Meanwhile the supervisor answers for itself (`askSupervisor`).
 */
export class StateKeeper {
  private timer: NodeJS.Timeout | null = null;
  private said: string | null = null;

  constructor(
    private readonly plan: Pick<Plan, 'home' | 'storeRoot'>,
    private readonly state: SupervisorState,
  ) {}

  /** Writes the state, and from then on writes it again whenever the file does not hold it. */
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

  /** Stops looking and removes the file: nothing is up any more. Never throws. */
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

  /** To the log, once for each trouble. The log may be on the same disk: then the words are lost, and nothing else. */
  private say(text: string): void {
    if (this.said === text) return;
    this.said = text;
    standardError.write(`${new Date().toISOString()} ${text}\n`);
  }
}
