import type { Reason, TrainingSnapshot } from '../../../k8s/training-snapshot';
import type { Training } from '../backend';
import { signalStatus } from '../signal-status';

/**
 * Tells a training's reason to whoever looks: heartbeat details always, the run's stage table when the kind changes.
 */
export class StatusReporter {
  /** Since when the reason has been of its kind, in milliseconds since 1970. */
  sinceMs = Date.now();
  private last: Reason | null = null;

  constructor(private readonly training: Training) {}

  /** `view` holds how far the trainer is; null where nobody could look. Returns the reason. */
  async tell(reason: Reason, view: TrainingSnapshot | null): Promise<Reason> {
    const { input, progress } = this.training;
    const changed = this.last?.kind !== reason.kind;
    if (changed) this.sinceMs = Date.now();
    this.last = reason;
    const trainer = view?.trainer;
    if (trainer) progress.setDone(trainer.iteration);
    progress.setReason({ ...reason, sinceMs: this.sinceMs });
    const left = trainer?.secondsLeft;
    progress.setNote(
      `train ${input.job}: ${reason.kind}, ${reason.message}${left && reason.kind === 'Training' ? `, about ${Math.ceil(left)} s left` : ''}`,
    );
    if (changed) await signalStatus(input, reason);
    return reason;
  }
}
