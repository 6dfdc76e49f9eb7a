import { z } from 'zod';

/** `host:port` as Temporal's client takes it; an address of IPv6 is in brackets. */
export const hostAndPortSchema = z.string().refine((address) => {
  const match = /^(?:\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(address);
  return match !== null && Number(match[1]) >= 1 && Number(match[1]) <= 65535;
}, 'must be host:port, such as temporal.example:7233, without blanks');
