import type { Reason, TrainingSnapshot } from '../../../k8s/training-snapshot';
import type { Training } from '../backend';
import { noteOf } from '../describe-training';
import { signalStatus } from '../signal-status';

/** Reports a training's reason in every heartbeat, and also to the run's progress table when its kind changes. */
export class StatusReporter {
  /** Time since which the reason has had this kind, in milliseconds since 1970. */
  sinceMs = Date.now();
  private last: Reason | null = null;

  constructor(private readonly training: Training) {}

  /** @param snapshot state for the progress; null if the API did not answer. */
  async report(reason: Reason, snapshot: TrainingSnapshot | null): Promise<void> {
    const { progress } = this.training;
    const changed = this.last?.kind !== reason.kind;
    if (changed) this.sinceMs = Date.now();
    this.last = reason;
    const trainer = snapshot?.trainer;
    if (trainer) progress.setDone(trainer.iteration);
    progress.setReason({ ...reason, sinceMs: this.sinceMs });
    const seconds = trainer?.secondsLeft;
    const left = seconds && reason.kind === 'Training' ? `, about ${Math.ceil(seconds)} s left` : '';
    progress.setNote(`${noteOf(this.training)}: ${reason.kind}, ${reason.message}${left}`);
    if (changed) await signalStatus(this.training, reason);
  }
}
