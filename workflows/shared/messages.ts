/** Signals, updates and queries, defined once for handlers and callers. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type {
  AnswerInput,
  AnswerResult,
  EditedEnvironment,
  FailingStatus,
  GiveWay,
  OperatorAnswer,
  RunProgress,
  StageStatus,
} from '../../contracts/messages/run';
import { MESSAGES } from '../../contracts/names';

/** The progress table of a run as data. */
export const progressQuery = defineQuery<RunProgress>(MESSAGES.progressQuery);
/** Approval of a promotion by the agent's owner. */
export const approveUpdate = defineUpdate<void, []>(MESSAGES.approveUpdate);
/** Answer to what waits in a run. Rejected when nothing waits for it. */
export const answerUpdate = defineUpdate<AnswerResult, [AnswerInput]>(MESSAGES.answerUpdate);
/** To a run or its child that waits: try again. */
export const retrySignal = defineSignal<[OperatorAnswer]>(MESSAGES.retrySignal);
/** To a run or its child that waits: leave it out. */
export const skipSignal = defineSignal<[OperatorAnswer]>(MESSAGES.skipSignal);
/** To a run or its child that waits: try this environment next. */
export const editSignal = defineSignal<[EditedEnvironment]>(MESSAGES.editSignal);
/** From a child or an activity to its run: what it does, or what it waits for. */
export const statusSignal = defineSignal<[StageStatus]>(MESSAGES.statusSignal);
/** From a worker to the run: an activity fails again and again, or no longer. */
export const failingSignal = defineSignal<[FailingStatus]>(MESSAGES.failingSignal);
/** From the next night to a run of the schedule that waits: end. */
export const giveWaySignal = defineSignal<[GiveWay]>(MESSAGES.giveWaySignal);
