/** Signals, updates and queries, defined once for handlers and callers. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { MESSAGES } from '../contracts/names';
import type { ChildNote, EditedEnvironment, HoldAnswer, RunProgress } from '../contracts/messages/run';

export const progressQuery = defineQuery<RunProgress>(MESSAGES.progressQuery);
export const approveUpdate = defineUpdate<void, []>(MESSAGES.approveUpdate);
export const retrySignal = defineSignal<[HoldAnswer]>(MESSAGES.retrySignal);
export const skipSignal = defineSignal<[HoldAnswer]>(MESSAGES.skipSignal);
export const editSignal = defineSignal<[EditedEnvironment]>(MESSAGES.editSignal);
export const noteSignal = defineSignal<[ChildNote]>(MESSAGES.noteSignal);
