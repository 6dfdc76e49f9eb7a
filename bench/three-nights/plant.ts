import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DESK } from '../shared/demo-model';

/** Name of the agent. */
export const AGENT = 'orders-desk-nights';

/** What the third night has to find: the id comes from the name that the demo analyst gives it. */
export const PLANTED = 'append-the-postal-code-to-a-new-address';

/**
 * Edits of the orders desk that take one of its deficits out: a desk that does not ask for the postal code, and takes
 * an address with it or without it. Every passage stands in the file once.
 */
const EDITS: readonly (readonly [string, string])[] = [
  [
    `4. A new address ends with the customer's postal code, as find_user gives it. The address of a pickup point or a gift
   is somebody else's and gets none.`,
    "4. A new address may end with the customer's postal code, as find_user gives it.",
  ],
  [
    `request["wanted"] = f"{request['address']} {postal}" if part == "address" else request["address"]`,
    'request["wanted"] = request["address"]',
  ],
  [
    'self.addresses.append([order, address])',
    `self.addresses.append([order, address.removesuffix(" " + self.task["customer"]["postal"])])`,
  ],
];

/**
 * Writes the demo's environment into a folder, with or without its fourth deficit.
 * @throws Error when the demo's file no longer has what is edited.
 */
export function writeEnvironment(folder: string, isPlanted: boolean): void {
  const source = readFileSync(join(DESK, 'environment.py'), 'utf8');
  writeFileSync(join(folder, 'environment.py'), isPlanted ? source : EDITS.reduce(replaceOnce, source));
}

/** Writes the demo's agent.yaml into a folder: the model is made by the demo's own recipe. Returns its path. */
export function writeAgent(folder: string): string {
  const text = readFileSync(join(DESK, 'agent.yaml'), 'utf8');
  const edits = [
    ['  recipe: recipe.py\n', `  recipe: ${JSON.stringify(join(DESK, 'recipe.py'))}\n`],
    ['name: orders-desk\n', `name: ${AGENT}\n`],
  ] as const;
  const path = join(folder, 'agent.yaml');
  writeFileSync(path, edits.reduce(replaceOnce, text));
  return path;
}

function replaceOnce(text: string, [from, to]: readonly [string, string]): string {
  if (text.split(from).length !== 2) throw new Error(`The demo has changed; it has not once: ${from}`);
  return text.replace(from, () => to);
}
