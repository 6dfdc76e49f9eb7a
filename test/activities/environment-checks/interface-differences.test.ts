// Tier: unit.
import { interfaceDifferences } from '../../../activities/environment-checks/interface-differences';
import type { EnvironmentTool } from '../../../contracts/messages/environment-protocol';

const tool = (
  name: string,
  properties: Record<string, unknown>,
  required = Object.keys(properties),
): EnvironmentTool => ({
  type: 'function',
  function: { name, description: 'text', parameters: { type: 'object', properties, required } },
});
const refund = tool('refund', { order: { type: 'string', description: 'number' }, amount: { type: 'integer' } });

describe('interfaceDifferences', () => {
  test('descriptions and the order of things do not count', () => {
    const same = tool('refund', { amount: { type: 'integer', description: 'money' }, order: { type: 'string' } }, [
      'amount',
      'order',
    ]);
    expect(interfaceDifferences([refund, tool('x', {})], [tool('x', {}), same])).toEqual([]);
  });

  test('missing and additional tools', () => {
    expect(interfaceDifferences([refund], [tool('repay', {})])).toEqual([
      'tools() lacks refund, which the agent has.',
      'tools() has repay, which the agent does not have.',
    ]);
  });

  test('a parameter that is missing, new, or of another type', () => {
    const other = tool('refund', { amount: { type: 'string' }, reason: { type: 'string' } });
    expect(interfaceDifferences([refund], [other])).toEqual([
      'refund lacks the parameter order.',
      `refund: the parameter amount is {"type":"string"}; the agent's tool has {"type":"integer"}.`,
      "refund has a parameter reason that the agent's tool does not have.",
      "refund requires [amount, reason]; the agent's tool requires [amount, order].",
    ]);
  });

  test('an optional parameter is another interface', () => {
    const other = tool('refund', { order: { type: 'string' }, amount: { type: 'integer' } }, ['order']);
    expect(interfaceDifferences([refund], [other])).toEqual([
      "refund requires [order]; the agent's tool requires [amount, order].",
    ]);
  });

  test('allowed values and element types count', () => {
    const ours = tool('x', {
      kind: { type: 'string', enum: ['a', 'b'] },
      many: { type: 'array', items: { type: 'string', description: 'one' } },
    });
    const theirs = tool('x', {
      kind: { type: 'string', enum: ['a'] },
      many: { type: 'array', items: { type: 'string' } },
    });
    expect(interfaceDifferences([ours], [theirs])).toHaveLength(1);
  });
});
