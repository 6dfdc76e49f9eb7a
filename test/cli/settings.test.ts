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
