// tier: unit
import { PassThrough } from 'node:stream';
import { requireAgreed } from '../../../cli/diagnose/agreed-cost';

/** Asks for agreement; `answers` are typed in a terminal. Null: there is none. */
async function agree(usd: number | null, flags: { yes?: boolean; maxUsd?: number }, answers: string | null = null) {
  const input = new PassThrough();
  const output = new PassThrough();
  input.end(answers ?? '');
  const terminal = { input, output, isInteractive: answers !== null };
  const agreement = { yes: flags.yes ?? false, maxUsd: flags.maxUsd };
  try {
    await requireAgreed({ tokens: 1_234_567, usd }, agreement, '/home/agent.yaml', terminal);
    return { asked: String(output.read() ?? ''), refused: null };
  } catch (error) {
    const { type, exitCode, message } = error as { type: string; exitCode: number; message: string };
    expect([type, exitCode]).toEqual(['Diagnose.NotAgreed', 2]);
    return { asked: String(output.read() ?? ''), refused: message };
  }
}

test.each([
  [4.5, {}],
  [40, { maxUsd: 50 }],
  [40, { yes: true }],
  [null, { yes: true }],
  [null, { yes: true, maxUsd: 5 }],
])('nobody is asked for %j dollars with %j', async (usd, flags) => {
  expect(await agree(usd, flags)).toEqual({ asked: '', refused: null });
});

test.each([
  [40.2, {}, /up to \$40\.20 and more than \$5, .* no terminal .* give --max-usd 41, or --yes/],
  [40, { maxUsd: 30 }, /more than \$30/],
  [null, {}, /up to 1,234,567 tokens, of which no price is known, .* give --yes, or set analyst\.pricePerMillionInput/],
  [null, { maxUsd: 30 }, /--max-usd 30 cannot be compared without prices: .* in \/home\/agent\.yaml/],
])('without a terminal, %j dollars with %j name the flag to give', async (usd, flags, message) => {
  expect((await agree(usd, flags)).refused).toMatch(message);
});

test('in a terminal it asks until the answer is one, and no is the suggestion', async () => {
  const { asked, refused } = await agree(40, {}, 'perhaps\ny\n');
  expect([asked, refused]).toEqual([expect.stringMatching(/up to \$40\.00\. Go on\?[\s\S]*Answer y or n/), null]);
  expect((await agree(40, {}, '\n')).refused).toMatch(/Nothing was started/);
});
