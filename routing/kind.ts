import type { z } from 'zod';
import type { RoutingRecord } from '../contracts/artifacts/evaluation';
import type { LabelledTasks } from './labelled-tasks';

/** A router's choice for one conversation. */
export interface ArmChoice {
  /** A capability, or `none` for the base model. */
  capabilityId: string;
  /** The router's confidence, in [0, 1]. */
  probability: number;
  /** The reason, in one or two words, for the header x-whet-route. */
  reason:
    | 'routed'
    | 'abstained'
    | 'left-out'
    | 'not-in-version'
    | 'later-turn'
    | 'open-need'
    | 'first-of-two'
    | 'several-needs';
}

/** Passes (1) and failures (0) of an arm on a train task; empty if the arm did not play it. */
export interface Outcomes {
  of(seed: number, arm: string): readonly number[];
}

/** All data for fitting a router. */
export interface FitData extends LabelledTasks {
  capabilities: readonly { id: string; summary: string }[];
  outcomes: Outcomes;
  /** Of every regression. */
  ridge: number;
}

/** Chooses an arm for a conversation that opens with this text. `answer` is the base model's answer to the menu. */
export type Choose = (opening: string, answer: RoutingRecord | null) => ArmChoice;

/** One kind of router, with everything that the competition, the report and the gateway need. */
export interface Kind<Router> {
  /** Its `router.json`. */
  schema: z.ZodType<Router>;
  needs: {
    /** The mixed adapter. */
    mixed: boolean;
    /** Whether it uses outcomes of the other kinds' choices; then it is fitted after them. */
    outcomes: boolean;
  };
  /** False: every conversation gets the same arm, at its opening and later. */
  choosesArms: boolean;
  /** Whether it predicts the probability of a need. Labels can only judge such a probability. */
  saysNeeds: boolean;
  fit(data: FitData): Promise<Router>;
  /** The menu for the base model, whose answer `choose` needs; absent for a kind that asks no model. */
  menu?(router: Router): readonly { id: string; summary: string }[];
  /** @throws TypeError if the kind needs an answer and `choose` gets none. */
  open(router: Router): Choose;
  /** Capabilities, and `mixed`, that it may choose for an opening. */
  arms(router: Router): string[];
  words: {
    /** A sentence for the report about how it chose. */
    report: string;
    /** The cells of its row in docs/reference/routers.md. */
    learnsFrom: string;
    cost: string;
  };
}
