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
/** Answer to a wait of a run. Rejected when there is no such wait. */
export const answerUpdate = defineUpdate<AnswerResult, [AnswerInput]>(MESSAGES.answerUpdate);
/** Sent to a waiting run or child, which then tries again. */
export const retrySignal = defineSignal<[OperatorAnswer]>(MESSAGES.retrySignal);
/** Sent to a waiting run or child, which then leaves out what waits. */
export const skipSignal = defineSignal<[OperatorAnswer]>(MESSAGES.skipSignal);
/** Sent to a waiting run or child, which then tries this environment. */
export const editSignal = defineSignal<[EditedEnvironment]>(MESSAGES.editSignal);
/** From a child or an activity to its run: its work, or the reason of its wait. */
export const statusSignal = defineSignal<[StageStatus]>(MESSAGES.statusSignal);
/** From a worker to the run: an activity fails again and again, or no longer. */
export const failingSignal = defineSignal<[FailingStatus]>(MESSAGES.failingSignal);
/** From the next night to a run of the schedule that waits: end. */
export const giveWaySignal = defineSignal<[GiveWay]>(MESSAGES.giveWaySignal);
