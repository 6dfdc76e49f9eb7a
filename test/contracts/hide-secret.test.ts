// tier: unit
import { hideSecretIn } from '../../contracts/hide-secret';

const KEY = 'sk-a-long-secret';

describe('a secret in an error', () => {
  it('is hidden in its causes too, where its own message is clean', () => {
    const error = new Error('Connection error.', { cause: new Error(`refused: ${KEY}`) });
    const clean = hideSecretIn(error, KEY);
    expect(clean.message).toBe('Connection error.');
    expect((clean.cause as Error).message).toBe('refused: [key]');
    expect((clean.cause as Error).stack).not.toContain(KEY);
  });

  it('is not left in a cause that is no error', () => {
    expect(hideSecretIn(new Error('no', { cause: { key: KEY } }), KEY).cause).toBeUndefined();
  });

  it('changes nothing where there is none', () => {
    const error = new Error('no', { cause: new Error('why') });
    expect(hideSecretIn(error, KEY)).toBe(error);
  });
});
