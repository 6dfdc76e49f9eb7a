// tier: unit
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../contracts/project-root';
import { readConfig } from '../../workers/config';

test('the profile of the jail is the project’s, or the one that WHET_JAIL_PROFILE names', () => {
  const pod = join(projectRoot(), 'sandbox', 'profile-pod.json');
  expect(readConfig([], {}).jailProfile).toBe(join(projectRoot(), 'sandbox', 'profile.json'));
  expect(readConfig([], { WHET_JAIL_PROFILE: pod }).jailProfile).toBe(pod);
});

test.each(['sandbox/profile-pod.json', '/nowhere/profile.json'])(
  'WHET_JAIL_PROFILE=%s is refused with what is allowed',
  (path) => {
    expect(() => readConfig([], { WHET_JAIL_PROFILE: path })).toThrow(
      /WHET_JAIL_PROFILE=.*the absolute path of a profile: sandbox\/profile\.json/,
    );
  },
);

test.each(['WHET_MODEL_URL', 'OPENAI_BASE_URL', 'WHET_KEY_ENDPOINTS', 'WHET_REPORT_URL'])(
  'a password in the address of %s is not repeated',
  (name) => {
    const read = () => readConfig([], { [name]: 'https://user:hunter2@host.example/v1' });
    expect(read).toThrow(`${name}=`);
    expect(read).toThrow(/^(?![^]*hunter2)/);
  },
);

test('keys are taken without the line feed of a secret, and an empty one is none', () => {
  const keys = (key: string) => {
    const { modelApiKey, analyst } = readConfig([], { WHET_MODEL_API_KEY: key, OPENAI_API_KEY: key });
    return [modelApiKey, analyst.apiKey];
  };
  expect(keys('sk-one\n')).toEqual(['sk-one', 'sk-one']);
  expect(keys('\n')).toEqual([null, null]);
});

describe('the policy of the cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whet-policy-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const policyOf = (text: string) => {
    const file = join(folder, 'policy.yaml');
    writeFileSync(file, text);
    return readConfig([], { WHET_POLICY: file }).operatorPolicy;
  };

  test('is the file that WHET_POLICY names, or none', () => {
    expect(readConfig([], {}).operatorPolicy).toBeNull();
    expect(policyOf('all: { images: [a] }')?.policy.all.images).toEqual(['a']);
  });

  test.each([
    ['all: { image: [a] }', /policy\.yaml.*all.*image/],
    ['agents: { Desk: { images: [a] } }', /agents/],
    ['all: { images: a }', /all\.images/],
    ['all: [', /policy\.yaml/],
  ])('%s is refused with file and field', (text, message) => {
    expect(() => policyOf(text)).toThrow(message);
  });

  test('a file that is not there is refused', () => {
    expect(() => readConfig([], { WHET_POLICY: '/nowhere.yaml' })).toThrow('/nowhere.yaml');
    expect(() => readConfig([], { WHET_POLICY: 'policy.yaml' })).toThrow(/WHET_POLICY=.*an absolute path/);
  });
});

test.each(['temporal', 'temporal:', 'http://temporal:7233', 'temporal:99999'])(
  'TEMPORAL_ADDRESS=%s is refused with the form it must have',
  (address) => {
    expect(() => readConfig([], { TEMPORAL_ADDRESS: address })).toThrow(/TEMPORAL_ADDRESS=.*must be host:port/);
  },
);

test('a server that loads adapters at another address is asked there', () => {
  const variables = { WHET_MODEL_URL: 'http://policy:8300/v1/', WHET_MODEL_ADMIN_URL: 'http://policy:8310/v1' };
  expect(readConfig([], variables).adapterUrls).toEqual({ 'http://policy:8300/v1': 'http://policy:8310/v1' });
  expect(readConfig([], {}).adapterUrls).toEqual({});
});
