import type { CoreV1Event, V1Job, V1Pod } from '@kubernetes/client-node';
import type { TrainingReasonKind } from '../contracts/artifacts/training';

/**
 * The state of one training at one moment, according to the cluster and the trainer. Times are milliseconds since 1970.
 */
export interface TrainingSnapshot {
  /** Null: there is no such Job. */
  job: V1Job | null;
  /** Pods of the Job, including those that have ended. */
  pods: readonly V1Pod[];
  /** Events about the Job and its pods. */
  events: readonly CoreV1Event[];
  /** When the API server last answered. */
  contactMs: number;
  /** How far the trainer is; null before its first iteration. */
  trainer: TrainerProgress | null;
  /**
   * The reason why the running trainer waits, such as a server that the cluster does not know; absent: it does not
   * wait.
   */
  waiting?: string | null;
}

/** How far a trainer is, from progress.jsonl and its reports. */
export interface TrainerProgress {
  /** The last finished iteration, counted from 1. */
  iteration: number;
  /** How many iterations the training has. */
  iterations: number;
  /** Mean reward of the last iteration. */
  reward: number;
  /** When the last iteration was first seen, in milliseconds since 1970. */
  atMs: number;
  /** Median duration of an iteration in milliseconds; null while there were fewer than three. */
  medianMs: number | null;
  /** Estimate from the median duration; null without one. */
  secondsLeft: number | null;
}

/** Why a training is where it is: a kind from a closed set and a sentence for people. */
export interface Reason {
  kind: TrainingReasonKind;
  /** Quotes the cluster's own message where there is one. */
  message: string;
}
