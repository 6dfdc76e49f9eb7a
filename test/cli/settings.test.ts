// tier: unit
import { readSettings } from '../../cli/settings';

describe('settings', () => {
  test('name the variable, its value and what is allowed', () => {
    expect(() => readSettings({ WHET_MODEL_PORT: '99999' })).toThrow(
      'WHET_MODEL_PORT="99999": must be a port number from 1 to 65535.',
    );
  });
  test('take an empty variable as unset', () =>
    expect(readSettings({ TEMPORAL_ADDRESS: '', WHET_HOME: '' }, '/x')).toMatchObject({
      temporalAddress: null,
      home: '/x/.whetstone',
    }));
  test('put the store into the state directory', () =>
    expect(readSettings({ WHET_HOME: 'state' }, '/x').storeRoot).toBe('/x/state/store'));
  test('see that an analyst is configured', () => {
    expect(readSettings({}).analystConfigured).toBe(false);
    expect(readSettings({ OPENAI_API_KEY: 'k' }).analystConfigured).toBe(true);
  });
});

test.each(['a b', ' ', ' host:7233', 'host:7233 ', 'host', 'host:', ':', ':7233', 'host:0', 'host:99999', 'host:7x'])(
  'TEMPORAL_ADDRESS %j is refused by its name',
  (address) =>
    expect(() => readSettings({ TEMPORAL_ADDRESS: address })).toThrow(
      `TEMPORAL_ADDRESS=${JSON.stringify(address)}: must be host:port, such as temporal.example:7233, without blanks.`,
    ),
);

test.each(['http://evil.example', 'https://host:7233', '1:2:3', '[::1]'])('TEMPORAL_ADDRESS %j is no host:port', (a) =>
  expect(() => readSettings({ TEMPORAL_ADDRESS: a })).toThrow('must be host:port'),
);

test.each(['127.0.0.1:7233', 'localhost:1', 'temporal_frontend.whet-2.svc:65535', '[::1]:7233'])(
  'TEMPORAL_ADDRESS %j is taken',
  (address) => expect(readSettings({ TEMPORAL_ADDRESS: address }).temporalAddress).toBe(address),
);
