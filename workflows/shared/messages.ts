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
/** Answer to a wait of a run. Rejected when the run has no such wait. */
export const answerUpdate = defineUpdate<AnswerResult, [AnswerInput]>(MESSAGES.answerUpdate);
/** Sent to a waiting run or child, which then tries again. */
export const retrySignal = defineSignal<[OperatorAnswer]>(MESSAGES.retrySignal);
/** Sent to a waiting run or child, which then leaves out the waiting part. */
export const skipSignal = defineSignal<[OperatorAnswer]>(MESSAGES.skipSignal);
/** Sent to a waiting run or child, which then tries this environment. */
export const editSignal = defineSignal<[EditedEnvironment]>(MESSAGES.editSignal);
/** From a child or an activity to its run: its current work, or why it waits. */
export const statusSignal = defineSignal<[StageStatus]>(MESSAGES.statusSignal);
/** From a worker to the run: an activity keeps failing, or has recovered. */
export const failingSignal = defineSignal<[FailingStatus]>(MESSAGES.failingSignal);
/** From the next night to a scheduled run that waits: it should end. */
export const giveWaySignal = defineSignal<[GiveWay]>(MESSAGES.giveWaySignal);
