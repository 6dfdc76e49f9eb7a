/** Signals, updates and queries, defined once for handlers and callers. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { MESSAGES } from '../contracts/names';
import type { StageStatus, EditedEnvironment, OperatorAnswer, RunProgress } from '../contracts/messages/run';

export const progressQuery = defineQuery<RunProgress>(MESSAGES.progressQuery);
export const approveUpdate = defineUpdate<void, []>(MESSAGES.approveUpdate);
export const retrySignal = defineSignal<[OperatorAnswer]>(MESSAGES.retrySignal);
export const skipSignal = defineSignal<[OperatorAnswer]>(MESSAGES.skipSignal);
export const editSignal = defineSignal<[EditedEnvironment]>(MESSAGES.editSignal);
export const statusSignal = defineSignal<[StageStatus]>(MESSAGES.statusSignal);
