import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import { asCall } from './moves';
import { textOf, wordsOf } from './words';

/** A value that a tool's answer shows. */
export interface ObservedValue {
  /** The tool and the fields that lead to the value: `get_order.items[].price`. */
  path: string;
  value: string | number | boolean | null;
  /** The other values of the same record, and the arguments of the call, as text. */
  record: ReadonlySet<string>;
}

/** Largest number of values that are read from one answer. */
const MAX_VALUES = 400;

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** The value of a JSON text; undefined for other text. */
function parsedOf(text: string): Json | undefined {
  if (!/^\s*[[{"\-\d]|^\s*(true|false|null)\s*$/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

const isAtom = (value: Json): value is ObservedValue['value'] => value === null || typeof value !== 'object';

/** The atoms of a document, with the path of each; elements of a list have the same path. */
function atomsOf(document: Json, root: string, known: ReadonlySet<string> = new Set()): ObservedValue[] {
  const found: ObservedValue[] = [];
  const visit = (value: Json, path: string, around: ReadonlySet<string>): void => {
    if (found.length >= MAX_VALUES) return;
    if (isAtom(value)) {
      found.push({ path, value, record: around });
      return;
    }
    if (Array.isArray(value)) {
      for (const element of value) visit(element, `${path}[]`, around);
      return;
    }
    const entries = Object.entries(value);
    const record = new Set([...around, ...entries.flatMap(([, one]) => (isAtom(one) ? [textOf(one)] : []))]);
    for (const [key, one] of entries) {
      // A key with a digit is a value: the number of an order, for example.
      const isValue = /\d/.test(key);
      if (isValue) found.push({ path: `${path}.*`, value: key, record });
      visit(one, isValue ? `${path}.*` : `${path}.${key}`, new Set([...record, key]));
    }
  };
  visit(document, root, known);
  return found;
}

/** The values that the answer to a call shows; empty for an answer in words. */
export function observedValues(move: EnvironmentMove, observation: string): ObservedValue[] {
  const { name, arguments: given } = asCall(move);
  const document = parsedOf(observation);
  if (document === undefined || 'text' in move) return [];
  return atomsOf(document, name, new Set(Object.values(given).map(textOf)));
}

/** The atoms of a call's arguments, by `tool.argument`. */
export const givenValues = (move: EnvironmentMove): ObservedValue[] => {
  const { name, arguments: given } = asCall(move);
  return atomsOf(given as Json, name);
};

/** The words of an answer that is no JSON document. */
export const wordsOfAnswer = (observation: string): string[] =>
  parsedOf(observation) === undefined ? wordsOf(observation) : [];
