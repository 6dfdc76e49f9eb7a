// tier: integration
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Router } from '../../../routing/kinds';
import { fitVocabulary } from '../../../routing/opening-features';
import { layout, putJson } from '../../../store';
import { modelDirectorySha256 } from '../../../store/model-hash';
import { peerPython } from '../../helpers/peer-python';
import { GatewayFixture, versionOf } from '../gateway-fixture';
import { makeModel, PolicyServer } from './policy-server';
import { nodeShapes } from './shapes';

const ROOT = join(__dirname, '..', '..', '..');
/** Long enough to install the Python clients, the first time. */
const INSTALL_MS = 300_000;
/** Gives every conversation to the capability `weigh`, so that its adapter answers whatever a client asks. */
const EVERYTHING_WEIGHS: Router = {
  kind: 'labels',
  leftOut: [],
  vocabulary: fitVocabulary(['weigh it', 'weigh this']),
  needs: [{ capabilityId: 'weigh', model: { bias: 9, weights: { positions: [], values: [] } } }],
};

/** A base URL and a model to ask there. */
type Place = readonly [url: string, model: string];
/** The answers of each place. */
type Shapes = (places: readonly Place[]) => Promise<unknown[]>;

/** One process asks all places: a start takes longer than the questions. */
const output = async (command: string, script: string, places: readonly Place[]): Promise<unknown[]> => {
  const { stdout } = await promisify(execFile)(command, [join(__dirname, script), ...places.flat()]);
  return JSON.parse(stdout) as unknown[];
};
const inPython =
  (script: string): Shapes =>
  async (places) =>
    output(join(await peerPython(ROOT, join(__dirname, 'requirements.txt')), 'python'), script, places);
const inNode =
  (script: string): Shapes =>
  (places) =>
    output(process.execPath, script, places);
const here: Shapes = (places) => Promise.all(places.map(([url, model]) => nodeShapes(url, model)));

describe('the official clients get through the gateway what they get from the policy server', () => {
  const fixture = new GatewayFixture();
  let adapter: string;
  let policy: PolicyServer;

  beforeAll(async () => {
    const model = join(fixture.folder, 'model');
    const folder = fixture.store.localPath('adapters/desk/weigh-1');
    makeModel(model, folder);
    const sha256 = await modelDirectorySha256(folder);
    adapter = `weigh@${sha256.slice(0, 12)}`;
    policy = await PolicyServer.start(model, 'tiny');
    const agent = { baseModel: 'tiny', replicas: [policy.url] };
    const artifact = await putJson(fixture.store, layout.evaluation('run-1'), 'router.json', EVERYTHING_WEIGHS);
    const made = versionOf(1, 'weigh');
    const version = {
      ...made,
      adapters: made.adapters.map((one) => ({ ...one, name: adapter, sha256 })),
      judgedRouter: { kind: EVERYTHING_WEIGHS.kind, artifact },
    };
    await fixture.start({ replicas: 0, registry: { versions: [version] }, agent });
  });
  afterAll(async () => {
    await fixture.stop();
    await policy.stop();
  });

  it.each<[string, Shapes]>([
    ['openai of Node', here],
    ['openai of Python', inPython('shapes.py')],
    ["LangChain's ChatOpenAI of Node", inNode('shapes-langchain.mjs')],
    ["LangChain's ChatOpenAI of Python", inPython('shapes_langchain.py')],
    ['Vercel AI SDK', inNode('shapes-ai-sdk.mjs')],
  ])(
    '%s: base model, pinned adapter, routed agent',
    async (_name, shapes) => {
      const gateway = `${fixture.url}/v1`;
      const [base, tuned, ...throughGateway] = await shapes([
        [policy.url, 'tiny'],
        [policy.url, adapter],
        [gateway, 'desk@base'],
        [gateway, adapter],
        [gateway, 'desk'],
      ]);
      expect(base).toMatchObject({
        refusal: [404, 'model_not_found'],
        structured: { content: expect.stringMatching(/^(yes|no)$/) },
      });
      expect(tuned).not.toEqual(base);
      expect(throughGateway).toEqual([base, tuned, tuned]);
    },
    INSTALL_MS,
  );

  it(
    'examples/smallest/client.py talks to the agent and posts an outcome',
    async () => {
      const python = join(await peerPython(ROOT, join(__dirname, 'requirements.txt')), 'python');
      const env = { ...process.env, GATEWAY: `${fixture.url}/v1`, AGENT: 'desk' };
      const { stdout } = await promisify(execFile)(python, [join(ROOT, 'examples/smallest/client.py')], { env });
      expect(stdout).toContain(`answered by ${adapter}`);
    },
    INSTALL_MS,
  );
});
