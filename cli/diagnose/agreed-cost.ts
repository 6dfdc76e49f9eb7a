import type { RunEstimate } from '../estimate';
import { CliError } from '../errors';
import { Prompt } from '../init/prompt';
import type { Terminal } from '../output';

/** What a diagnosis may cost without a question, in US dollars. */
export const FREE_USD = 5;

/** What the owner said beforehand. */
export interface Agreement {
  /** true: whatever it costs. */
  yes: boolean;
  /** Most dollars; undefined: FREE_USD. */
  maxUsd: number | undefined;
}

const whole = (value: number) => Math.round(value).toLocaleString('en-US');

/** The estimate in a sentence or two. */
export function costText({ tokens, usd, expectedTokens, basis }: RunEstimate): string {
  const most = `The analyst: at most ${whole(tokens)} tokens${usd === null ? '' : `, $${usd.toFixed(2)}`}.`;
  const expected =
    expectedTokens === null
      ? 'Most diagnoses need a small part: candidates whose verdict is clear are not labelled again.'
      : `The last one of this agent used ${whole(expectedTokens)}; labels that are stored are not asked again.`;
  return `${most} ${expected} ${basis}`;
}

/**
 * Asks whether a diagnosis may cost what it may, if that is more than was agreed to.
 * @param agentPath the agent.yaml, which has the prices.
 * @throws CliError (exit 2) if the answer is no, and if nobody can be asked: it names the flag to give.
 */
export async function requireAgreed(
  { tokens, usd }: Pick<RunEstimate, 'tokens' | 'usd'>,
  { yes, maxUsd }: Agreement,
  agentPath: string,
  terminal: Terminal,
): Promise<void> {
  if (yes) return;
  const prices = `set analyst.pricePerMillionInput and analyst.pricePerMillionOutput in ${agentPath}`;
  if (maxUsd !== undefined && usd === null)
    throw notAgreed(`--max-usd ${maxUsd} cannot be compared without prices: ${prices}, or give --yes.`);
  if (usd !== null && usd <= (maxUsd ?? FREE_USD)) return;
  const cost = usd === null ? `${whole(tokens)} tokens, of which no price is known` : `$${usd.toFixed(2)}`;
  const limit = usd === null ? '' : ` and more than $${maxUsd ?? FREE_USD}`;
  if (!terminal.isInteractive) {
    const flag = usd === null ? `--yes, or ${prices}` : `--max-usd ${Math.ceil(usd)}, or --yes`;
    throw notAgreed(`It may take up to ${cost}${limit}, and there is no terminal to ask in: give ${flag}.`);
  }
  using prompt = new Prompt(terminal);
  const agreed = await prompt.ask({
    about: `It may take up to ${cost}. Go on? (y or n)`,
    suggestion: 'n',
    read: (text) => (/^(y|n|yes|no)$/i.test(text) ? { value: /^y/i.test(text) } : { fault: 'Answer y or n.' }),
  });
  if (!agreed) throw notAgreed('Nothing was started. The conversations are stored, and the same command asks again.');
}

const notAgreed = (message: string): CliError => new CliError(message, { type: 'Diagnose.NotAgreed' });
