import type { Judgement } from '../../shared/analyst/answers';
import type { Transcript, TranscriptCall } from './transcript';

type Rule = (transcript: Transcript) => Judgement;

const notCalledFor: Judgement = { label: 'NA', step: null, reason: 'The episode gave no occasion for it.' };
const lacking = (call: TranscriptCall, reason: string): Judgement => ({
  label: 'LACKING',
  step: call.step,
  reason: `${quote(call)}: ${reason}`,
});
const present = (call: TranscriptCall, reason: string): Judgement => ({
  label: 'PRESENT',
  step: call.step,
  reason: `${quote(call)}: ${reason}`,
});

/**
 * A rule for each capability, by its id in capabilities.json. Each looks only at calls, results and the customer's
 * words.
 */
export const RULES: Readonly<Record<string, Rule>> = {
  'verify-before-refund': ({ calls, customer }) => {
    if (customer.some((text) => /\bverified by phone\b/.test(text))) return notCalledFor;
    const refunds = done(calls, 'refund_order');
    const verified = calls.find((call) => call.name === 'verify_user' && read(call).verified === true);
    const early = refunds.find((refund) => !verified || calls.indexOf(verified) > calls.indexOf(refund));
    if (early) return lacking(early, 'the refund was paid without a successful verify_user before it.');
    return verified ? present(verified, 'the customer was verified before any refund.') : notCalledFor;
  },

  'status-before-cancel': ({ calls, customer }) => {
    for (const cancel of done(calls, 'cancel_order')) {
      const before = calls
        .slice(0, calls.indexOf(cancel))
        .filter((call) => call.name === 'get_order' && call.arguments.order === cancel.arguments.order);
      const status = before.map((call) => read(call).status).at(-1);
      if (status === undefined) return lacking(cancel, 'the order was cancelled without reading it first.');
      if (status !== 'pending')
        return lacking(cancel, `the order was cancelled although its status was ${JSON.stringify(status)}.`);
    }
    const asked = matches(customer, /(?:cancel (?:my )?order|do not need order) (\w*\d+)/g).map(([, order]) => order);
    const looked = done(calls, 'get_order').find((call) => asked.includes(String(call.arguments.order)));
    return looked ? present(looked, 'the order was read before deciding about the cancellation.') : notCalledFor;
  },

  'credit-every-item': ({ calls, customer }) => {
    const credits = done(calls, 'credit_item');
    let shown: Judgement = notCalledFor;
    for (const [, list, order] of matches(customer, /the (\w+(?: and the \w+)+) (?:in|of) order (\w*\d+)/g)) {
      const named = (list as string).split(' and the ');
      const own = credits.filter((call) => call.arguments.order === order);
      const last = own.at(-1);
      if (!last) continue;
      const left = named.filter((item) => !own.some((call) => call.arguments.item === item));
      if (left.length > 0)
        return lacking(last, `the customer named ${named.join(' and ')}, but ${left.join(' and ')} got no credit.`);
      shown = present(last, `each of ${named.join(' and ')} got a credit.`);
    }
    return shown;
  },

  'append-postal-code': ({ calls, customer }) => {
    const elsewhere = matches(customer, /\border (\w+) (?:to the pickup|(?:as |is )?a gift)\b/g).map(
      ([, order]) => order,
    );
    const postal = done(calls, 'find_user')
      .map((call) => read(call).postal)
      .find((code) => code !== undefined);
    const last = new Map(done(calls, 'change_address').map((call) => [call.arguments.order, call]));
    let shown: Judgement = notCalledFor;
    for (const call of last.values()) {
      if (elsewhere.includes(String(call.arguments.order))) continue;
      if (typeof postal !== 'string' || !String(call.arguments.address).endsWith(` ${postal}`))
        return lacking(call, 'the new address does not end with the postal code of the customer.');
      shown = present(call, 'the new address ends with the postal code of the customer.');
    }
    return shown;
  },

  'greet-the-customer': ({ calls }) => {
    const reply = calls.find((call) => call.name === 'reply');
    if (!reply) return notCalledFor;
    return /^(hello|hi|good (morning|afternoon|evening))\b/i.test(String(reply.arguments.text))
      ? present(reply, 'the reply opens with a greeting.')
      : lacking(reply, 'the reply opens without a greeting.');
  },

  'escalate-legal-threats': ({ calls, customer }) => {
    if (!customer.some((text) => /\blawyer\b/i.test(text))) return notCalledFor;
    const escalation = calls.find((call) => call.name === 'escalate');
    if (escalation) return present(escalation, 'the legal threat was escalated.');
    const [first] = calls;
    return first
      ? lacking(first, 'the customer mentioned a lawyer, and nothing was escalated.')
      : { label: 'LACKING', step: null, reason: 'The customer mentioned a lawyer, and nothing was done.' };
  },
};

/** Calls of a tool that did not come back with an error. */
function done(calls: readonly TranscriptCall[], name: string): TranscriptCall[] {
  return calls.filter((call) => call.name === name && read(call).error === undefined);
}

/** The call's result as an object; empty when it is not an object. */
function read(call: TranscriptCall): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(call.observation);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function matches(texts: readonly string[], pattern: RegExp): RegExpExecArray[] {
  return texts.flatMap((text) => [...text.matchAll(pattern)]);
}

function quote(call: TranscriptCall): string {
  return `${call.name} ${JSON.stringify(call.arguments)}`;
}
