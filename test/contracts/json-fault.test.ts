// tier: unit
import { jsonFault } from '../../contracts/json-fault';

const faultOf = (text: string): string => {
  try {
    JSON.parse(text);
  } catch (error) {
    return jsonFault(error as SyntaxError);
  }
  return '';
};

test.each([
  'hunter2',
  'DB_PASSWORD=hunter2',
  '[hunter2]',
  '{"hunter2": "hunter2',
  '{"a": 1 hunter2}',
  '[1, hunter2\n]',
])('what is wrong with %j is told without its text', (text) => {
  expect(faultOf(text)).not.toBe('');
  expect(faultOf(text)).not.toContain('hunter2');
});
