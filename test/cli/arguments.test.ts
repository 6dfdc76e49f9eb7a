// tier: unit
import { runCommandLine } from '../../cli/run-command-line';
import { daysOrMore, positiveAmount, positiveNumber, wholeNumber } from '../../cli/arguments';

test.each(['9007199254740992', '9007199254740993', '18446744073709551616', '9'.repeat(400)])(
  '%s is refused, because its last digits would be lost',
  (text) => {
    expect(() => wholeNumber(text)).toThrow('2^53');
    expect(() => positiveNumber(text)).toThrow('2^53');
  },
);

test.each(['9'.repeat(400), '1e3', '0', '-1', ''])('%p is no amount', (text) => {
  expect(() => positiveAmount(text)).toThrow('is no amount above 0');
});

test.each([`${'9'.repeat(30)}d`, '5300w', '101w1', '23h'])('%p is no span', (text) => {
  expect(() => daysOrMore(text)).toThrow('is no span');
});

test('numbers that can be kept are taken', () => {
  expect([wholeNumber('9007199254740991'), positiveAmount('0.5'), daysOrMore('36h')]).toEqual([
    9007199254740991, 0.5, 129_600_000,
  ]);
});

test.each([
  ['report', ''],
  ['status', ' '],
  ['why', ''],
  ['cancel', ''],
  ['canary', ''],
])('`whet %s %j` says which argument is empty', async (command, name) => {
  const said: string[] = [];
  const stream = { write: (text: string) => said.push(text) > 0 };
  expect(await runCommandLine([command, name], { stdout: stream, stderr: stream })).toBe(2);
  expect(said.join('')).toMatch(/^whet: The argument [a-z]+ is empty: perhaps a variable of the shell is not set\.\n$/);
});
