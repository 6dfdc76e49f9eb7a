import { type Edit, writeDemoEnvironment } from '../../../bench/shared/demo-agent';

/**
 * Edits of the orders desk that take one of its deficits out: a desk that does not ask for the postal code, and takes
 * an address with it or without it.
 */
const EDITS: readonly Edit[] = [
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

/** Writes the demo's environment into a folder, with or without its fourth deficit. */
export function writeEnvironment(folder: string, isPlanted: boolean): void {
  writeDemoEnvironment(folder, isPlanted ? [] : EDITS);
}
