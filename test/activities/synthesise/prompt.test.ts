// Tier: unit.
import { createHash } from 'node:crypto';
import {
  SYNTHESIS_PROMPT_VERSION,
  synthesisMessages,
  type SynthesisMaterial,
} from '../../../activities/synthesise/prompt';
import { calibrationOf } from '../../../activities/calibrate/calibration';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';

const BAND = { ...agentSpecSchema.shape.calibration.parse(undefined), successReward: 1 };
const material: SynthesisMaterial = {
  capability: { id: 'check', name: 'Check it', summary: 'checks', description: 'The agent checks it.' },
  tools: [],
  samples: { system: 'You check.', openings: ['please check'], calls: [] },
  evidence: [],
  previous: null,
};
const rejected = (rewards: number[][], outOfBand: number, faulty = false): SynthesisMaterial => ({
  ...material,
  previous: {
    attempt: 1,
    source: 'class Environment: pass',
    validation: { passed: true, problems: [], checks: [] },
    calibration: { ...calibrationOf(rewards, BAND), faulty },
    outOfBand,
  },
});

test('a changed prompt text needs a new version: answers are reused by version', () => {
  const materials = [material, rejected([[1, 1]], 1), rejected([[1, 1]], 3), rejected([[0, 0]], 1, true)];
  const hash = createHash('sha256')
    .update(JSON.stringify(materials.map(synthesisMessages)))
    .digest('hex');
  expect({ [SYNTHESIS_PROMPT_VERSION]: hash.slice(0, 12) }).toMatchInlineSnapshot(`
   {
     "synthesise-3": "7474543b2959",
   }
  `);
});
