/** Amounts that are counted: tokens, and US dollars; null where agent.yaml has no prices. */
interface Amounts {
  tokens: number;
  usd: number | null;
}

/** A limit for each amount. Absent: none. */
interface Limits {
  tokens?: number | undefined;
  usd?: number | undefined;
}

/**
 * Which limit so many more calls would probably pass, each as large as the mean of the earlier ones; null: none.
 * @param calls number of the calls that `spent` is for.
 * @returns what is spent of the limit, in words, and the amount's name.
 */
export function overLimit(
  limits: Limits,
  spent: Amounts,
  { calls, running }: { calls: number; running: number },
): { words: string; amount: 'tokens' | 'usd' } | null {
  const withRunning = (amount: number) => amount * (1 + (calls === 0 ? 0 : running / calls));
  if (limits.tokens !== undefined && withRunning(spent.tokens) > limits.tokens)
    return { words: `${spent.tokens} of ${limits.tokens} tokens`, amount: 'tokens' };
  const usd = spent.usd ?? 0;
  if (limits.usd !== undefined && withRunning(usd) > limits.usd)
    return { words: `$${usd.toFixed(4)} of $${limits.usd}`, amount: 'usd' };
  return null;
}
