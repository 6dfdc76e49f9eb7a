/** Readers of arguments and option values, for commander. Each throws for invalid text. */
import { type Command, InvalidArgumentError } from 'commander';
import { CliError } from './errors';
import { startOf } from '../contracts/clean-text';

/** A whole number from 0 to 2^53 - 1. @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError(`${JSON.stringify(text)} is no whole number of 0 or more.`);
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new InvalidArgumentError(`${startOf(text, 30)} is beyond 2^53 - 1, where numbers lose their last digits.`);
  return value;
}

/** A whole number of 1 or more. @throws InvalidArgumentError */
export function positiveNumber(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError('It must be 1 or more.');
  return value;
}

/** A decimal number above 0. @throws InvalidArgumentError */
export function positiveAmount(text: string): number {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || !(value > 0 && Number.isFinite(value)))
    throw new InvalidArgumentError(`${JSON.stringify(startOf(text, 30))} is no amount above 0.`);
  return value;
}

/** A reader of numbers above 0, up to `high`, for flags of `whet canary`. It throws a CliError (exit 2). */
export const shareUpTo =
  (high: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !(value > 0 && value <= high))
      throw new CliError(`${JSON.stringify(text)} is not allowed. Allowed: more than 0, at most ${high}.`, {
        type: 'Canary.Usage',
      });
    return value;
  };

/** Refuses arguments without a letter, which come from unset shell variables. @throws CliError (exit 2) */
export function refuseEmpty({ registeredArguments, processedArgs }: Command): void {
  registeredArguments.forEach((argument, i) => {
    const given = [processedArgs[i]].flat() as unknown[];
    if (!given.some((text) => typeof text === 'string' && text.trim() === '')) return;
    const sentence = `The argument ${argument.name()} is empty: perhaps a variable of the shell is not set.`;
    throw new CliError(sentence, { type: 'Cli.Usage' });
  });
}

/**
 * Refuses arguments with a line feed: messages repeat arguments, and no part of one may pass for a line of `whet`.
 * @throws CliError (exit 2)
 */
export function refuseLineFeeds(argv: readonly string[]): void {
  const found = argv.find((argument) => /[\n\r]/.test(argument));
  if (found === undefined) return;
  throw new CliError(`The argument ${JSON.stringify(startOf(found, 100))} has a line feed: write it in one line.`, {
    type: 'Cli.Usage',
  });
}

const CENTURY_MS = 100 * 365 * 86_400_000;

/**
 * Milliseconds of a duration between a day and a hundred years, such as `30d` or `36h`. @throws InvalidArgumentError
 */
export function daysOrMore(text: string): number {
  const [, amount, unit] = /^(\d+)(h|d|w)$/.exec(text) ?? [];
  const ms = Number(amount) * { h: 3_600_000, d: 86_400_000, w: 604_800_000 }[unit as 'h' | 'd' | 'w'];
  if (amount === undefined || !(ms >= 86_400_000 && ms <= CENTURY_MS))
    throw new InvalidArgumentError(`${JSON.stringify(text)} is no span of a day or more, such as 30d, 36h or 4w.`);
  return ms;
}
