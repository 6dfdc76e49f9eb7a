import type { z } from 'zod';
import type { RoutingRecord } from '../contracts/artifacts/evaluation';
import type { LabelledTasks } from './labelled-tasks';

/** A router's choice for one conversation. */
export interface ArmChoice {
  /** A capability, or `none` for the base model. */
  capabilityId: string;
  /** How sure the router is, in [0, 1]. */
  probability: number;
  /** Why, in one or two words, for the header x-whet-route. */
  reason: 'routed' | 'abstained' | 'left-out' | 'not-in-version' | 'later-turn' | 'first-of-two' | 'several-needs';
}

/** Passes (1) and failures (0) of an arm on a train task; empty when it was not played. */
export interface Outcomes {
  of(seed: number, arm: string): readonly number[];
}

/** All that a router can be fitted on. */
export interface FitData extends LabelledTasks {
  capabilities: readonly { id: string; summary: string }[];
  outcomes: Outcomes;
  /** Of every regression. */
  ridge: number;
}

/** Chooses an arm for a conversation that opens with this text. `answer` is the base model's answer to the menu. */
export type Choose = (opening: string, answer: RoutingRecord | null) => ArmChoice;

/** One kind of router: everything that the competition, the report and the gateway know of it. */
export interface Kind<Router> {
  /** Its `router.json`. */
  schema: z.ZodType<Router>;
  needs: {
    /** The mixed adapter. */
    mixed: boolean;
    /** Outcomes of the other kinds' choices, so that it is fitted after them. */
    outcomes: boolean;
  };
  /** False: every conversation gets the same arm, at its opening and later. */
  choosesArms: boolean;
  /** Whether it predicts the probability of a need. Labels can judge only such a probability. */
  saysNeeds: boolean;
  fit(data: FitData): Promise<Router>;
  /** The menu for the base model, whose answer `choose` needs; absent for a kind that asks nobody. */
  menu?(router: Router): readonly { id: string; summary: string }[];
  /** @throws TypeError when `choose` gets no answer and the kind needs one. */
  open(router: Router): Choose;
  /** Capabilities, and `mixed`, that it may choose for an opening. */
  arms(router: Router): string[];
  words: {
    /** How it chose, a sentence for the report. */
    report: string;
    /** The cells of its row in docs/reference/routers.md. */
    learnsFrom: string;
    cost: string;
  };
}
