import { readFileSync } from 'node:fs';
import type { PendingActivity, RunState } from '../../cli/view/run-state';
import { isRunning, type ProcessId, processesOfInstance } from '../../cli/supervisor/processes';
import { readRunningSupervisorState } from '../../cli/supervisor/supervisor-state';

/** One process to kill: when the named activity is in its middle. */
interface Kill {
  victim: 'policy' | 'worker' | 'trainer' | 'temporal';
  stage: string;
  activity: string;
}

const KILLS: readonly Kill[] = [
  { victim: 'policy', stage: 'collect', activity: 'collectTrajectories' },
  { victim: 'worker', stage: 'identify', activity: 'labelChunk' },
  { victim: 'trainer', stage: 'sharpen', activity: 'trainAdapter' },
  { victim: 'temporal', stage: 'evaluate', activity: 'rollOutArm' },
];

/** A kill that happened. */
export interface KillRecord {
  victim: Kill['victim'];
  stage: string;
  /** What was done when it was killed: `120 of 400 labels`. */
  at: string;
  pid: number;
}

/**
 * An arm's rollouts take less than the second between two heartbeats; the stage has several arms, so a started one is
 * its middle.
 */
const inTheMiddle = ({ status, activityType, progress }: PendingActivity): boolean =>
  status === 'started' &&
  (activityType === 'rollOutArm' || (progress !== null && progress.done > 0 && progress.done < progress.total));

/** Kills each victim once, as soon as its stage is in its middle. */
export class Killer {
  readonly records: KillRecord[] = [];

  constructor(
    private readonly home: string,
    private readonly say: (line: string) => void,
  ) {}

  /** Looks at the run and kills at most one process. */
  look(state: RunState): void {
    for (const { victim, stage, activity } of KILLS.filter(
      (kill) => !this.records.some((done) => done.victim === kill.victim),
    )) {
      const target = state.activities.find((a) => a.activityType === activity && inTheMiddle(a));
      const process_ = target === undefined ? null : this.find(victim);
      if (target === undefined || process_ === null) continue;
      process.kill(process_.pid, 'SIGKILL');
      const at =
        target.progress === null
          ? activity
          : `${target.progress.done} of ${target.progress.total} ${target.progress.unit}`;
      this.records.push({ victim, stage, at, pid: process_.pid });
      this.say(`SIGKILL ${victim} (pid ${process_.pid}) in ${stage} at ${at}`);
      return;
    }
  }

  /** Victims that lived: their stage was over before it could be looked at. */
  missed(): string[] {
    return KILLS.map((kill) => kill.victim).filter(
      (victim) => !this.records.some((record) => record.victim === victim),
    );
  }

  private find(victim: Kill['victim']): ProcessId | null {
    const state = readRunningSupervisorState(this.home);
    if (state === null) return null;
    if (victim === 'trainer') return processesOfInstance(state.instance).find(isTrainer) ?? null;
    const service = state.services.find((s) => s.name === victim);
    return service?.status === 'ready' && service.process !== null && isRunning(service.process)
      ? service.process
      : null;
  }
}

/** The trainer itself, not the shell that waits for it. */
function isTrainer({ pid }: ProcessId): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return /python[\d.]*$/.test(words[0] ?? '') && words.includes('whetstone.train');
  } catch {
    return false;
  }
}
