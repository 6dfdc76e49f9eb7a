import type { RejectedAttempt } from '../../activities/synthesise/feedback';
import type { SynthesisMaterial } from '../../activities/synthesise/prompt';
import { agentSpecSchema } from '../../contracts/config/agent-spec';

const { calibration, certificate } = agentSpecSchema.shape;

/** What a synthesis prompt is made of, but for the capability: an agent of which nothing was seen. */
export const plainMaterial: Omit<SynthesisMaterial, 'capability'> = {
  tools: [],
  demands: {
    calibration: calibration.parse(undefined),
    certificate: certificate.parse(undefined),
    successReward: 1,
    maxTurns: 12,
    maxCompletionTokens: 256,
    hasSay: false,
    jail: {
      caps: { lineBytes: 2 ** 20, batchRequests: 256, depth: 64, logBytes: 2 ** 20, logTailBytes: 4096 },
      wallMs: { start: 20_000, request: 10_000, close: 1_000 },
      rlimits: {
        ...{ addressSpaceBytes: 2 ** 29, coreBytes: 1, cpuSeconds: 7200, fileSizeBytes: 0, lockedMemoryBytes: 0 },
        ...{ messageQueueBytes: 0, openFiles: 64, pendingSignals: 256, stackBytes: 2 ** 23, threads: 32 },
      },
    },
  },
  samples: {
    ...{ system: 'policy', openings: [], calls: [], errors: [], vocabulary: [] },
    spoken: { episodes: 0, withText: 0, endedByText: 0, texts: [] },
  },
  verdicts: [],
  rate: { labelled: 0, needed: 0, shown: 0, successShown: 0, successLacking: 0 },
  evidence: [],
  previous: null,
};

/** A refused attempt of which nothing was seen. */
export const plainRejection: RejectedAttempt = {
  attempt: 1,
  source: 'class Environment: pass',
  validation: { passed: true, problems: [], checks: [] },
  calibration: null,
  rollouts: [],
  reading: null,
  history: [],
};
