// tier: integration
import { type ConsensusLabel, consensusLabelSchema } from '../../../contracts/artifacts/identification';
import { getLines } from '../../../store';
import { type FakeAnalyst, type FakeAnalystRequest, startFakeAnalyst } from '../../fakes/analyst-endpoint';
import { FORMS } from '../../fakes/hostile-forms';
import { type Form, seededScript, sendReply } from '../../fakes/hostile-model-server';
import { syntheticAnswer } from '../../fakes/synthetic-episodes';
import { IdentifyWorld } from './identify-world';

const read = FORMS.filter(({ analyst }) => typeof analyst === 'string');
const alone = FORMS.filter(({ analyst }) => analyst?.[0] === 'alone');
const promptOf = ({ body }: FakeAnalystRequest) => body.messages[1]?.content ?? '';
const isLabel = ({ body }: FakeAnalystRequest) => body.response_format?.json_schema.name === 'label';
const keyOf = ({ trajectoryId, capabilityId }: ConsensusLabel) => `${trajectoryId} ${capabilityId}`;

describe('an analyst that answers in odd but legal forms', () => {
  let endpoint: FakeAnalyst;
  let choose: (prompt: string) => Form | null = () => null;
  const met = new Set<string>();
  /** Prompts that never got an answer. */
  const unanswered = new Set<string>();

  beforeAll(async () => {
    endpoint = await startFakeAnalyst((request) => {
      const prompt = promptOf(request);
      const form = isLabel(request) ? choose(prompt) : null;
      const plain = syntheticAnswer(request) as { content: string };
      if (form === null || (form.analyst === 'sent again' && met.has(prompt))) return plain;
      met.add(prompt);
      if (Array.isArray(form.analyst)) unanswered.add(prompt);
      return (response) => sendReply(response, form.reply({ content: plain.content, calls: [] }));
    });
  });
  afterAll(() => endpoint.close());

  const labelsOf = async () => {
    const world = new IdentifyWorld(endpoint.url, { analyst: { concurrency: 8, maxReasks: 1 } });
    const { result, totals } = await world.identify(await world.input(60));
    const labels = await getLines(world.fixture.store, result.labels, consensusLabelSchema);
    await world.fixture.dispose();
    return { totals, labels: new Map(labels.map((label) => [keyOf(label), label])) };
  };

  test('a seeded mix: 420 questions, three in ten with an odd answer', async () => {
    choose = () => null;
    const plain = await labelsOf();
    met.clear();
    unanswered.clear();
    const [often, seldom] = [seededScript(1, 0.3, read), seededScript(101, 0.03, alone)];
    choose = (prompt) => (seldom(prompt) ?? often(prompt))?.form ?? null;
    const odd = await labelsOf();
    expect(unanswered.size).toBeGreaterThan(0);
    expect(odd.totals).toMatchObject({ asked: plain.totals.asked, unlabelled: unanswered.size });
    const labels = [...odd.labels.values()];
    expect(labels.filter(({ label }) => label === null)).toHaveLength(unanswered.size);
    for (const label of labels) if (label.label !== null) expect(label).toEqual(plain.labels.get(keyOf(label)));
  });
});
