import type { AgentState } from '../agent-state';
import type { ConversationKey, Decision } from '../conversations';
import type { InferenceRequest } from '../http/inference-request';

/** Sees the answer of one request. */
export interface Tap {
  piece(bytes: Buffer): void;
  end(complete: boolean): void;
}

/** Keeps sampled conversations until their outcome is known. */
export class TraceSampler {
  /** Null for a conversation that is not sampled. */
  tap(_agent: AgentState, _conversation: ConversationKey, _decision: Decision | null, _asked: InferenceRequest): Tap | null {
    return null;
  }
}
