import type { CoreV1Event, V1Job, V1Pod } from '@kubernetes/client-node';
import type { TrainingReasonKind } from '../contracts/artifacts/training';

/**
 * The state of one training at one moment, according to the cluster and the trainer. Times are milliseconds since 1970.
 */
export interface TrainingSnapshot {
  /** Null if there is no such Job. */
  job: V1Job | null;
  /** Pods of the Job, including those that have ended. */
  pods: readonly V1Pod[];
  /** Events about the Job and its pods. */
  events: readonly CoreV1Event[];
  /** Time of the API server's last answer. */
  contactMs: number;
  /** The trainer's progress; null before its first iteration. */
  trainer: TrainerProgress | null;
  /**
   * Why the running trainer waits, for example for a server that the cluster does not know; absent: it does not wait.
   */
  waiting?: string | null;
}

/** A trainer's progress, from progress.jsonl and its reports. */
export interface TrainerProgress {
  /** The last finished iteration, counted from 1. */
  iteration: number;
  /** Number of iterations of the training. */
  iterations: number;
  /** Mean reward of the last iteration. */
  reward: number;
  /** The newest probe of the agent's own tasks, in words; null before the first one. */
  probe: string | null;
  /** Time at which the last iteration was first seen, in milliseconds since 1970. */
  atMs: number;
  /** Median duration of an iteration in milliseconds; null with fewer than three iterations. */
  medianMs: number | null;
  /** Estimate from the median duration; null without one. */
  secondsLeft: number | null;
}

/** The reason of a training's state: a kind from a closed set, and a sentence for people. */
export interface Reason {
  kind: TrainingReasonKind;
  /** It quotes the cluster's own message if there is one. */
  message: string;
}
