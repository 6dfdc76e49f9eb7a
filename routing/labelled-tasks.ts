import type { RoutingRecord } from '../contracts/artifacts/evaluation';
import type { ReadMessage } from './opening-text';

/** An opening with the needs in its labels. */
export interface LabelledOpening {
  opening: string;
  /** Trained capabilities that the task needs, whether or not the agent showed them. */
  needs: readonly string[];
  /** Later messages. A task has the later messages of its longest trial. Empty if the agent spoke last. */
  later: readonly ReadMessage[];
}

/** An episode of a train task, or a live conversation, with the labels of its capabilities. */
export interface LabelledSteps {
  /** Of the train task; null for live traffic. */
  seed: number | null;
  /** The messages from the agent's first answer on, without the agent's texts. */
  later: readonly ReadMessage[];
  /** By capability; capabilities without a label are absent. */
  labels: Readonly<Record<string, 'PRESENT' | 'LACKING' | 'NA'>>;
}

/** A train task on which routers are compared. */
export interface RoutingTask extends LabelledOpening {
  seed: number;
  /** Passes (1) and failures (0) of the base model. */
  basePasses: readonly number[];
  /** The base model's answer to the menu; null if it was not asked. */
  answer: RoutingRecord | null;
}

/** The tasks and openings that identification labelled. */
export interface LabelledTasks {
  /** Train tasks, by seed. */
  tasks: RoutingTask[];
  /** Openings of live traffic. They have no task that could be played. */
  live: LabelledOpening[];
  /** Every labelled episode in which a tool answered. */
  episodes: LabelledSteps[];
}
