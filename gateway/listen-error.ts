/** A reason why the gateway cannot listen on an address. */
interface Fault {
  what: string;
  todo: string;
  /** True: the configuration is wrong. False: something else on the machine prevents it. */
  isConfiguration: boolean;
}

/** By the system's code. */
const FAULTS: Record<string, Fault> = {
  EADDRINUSE: {
    what: 'the port is taken',
    todo: 'End what listens there, or choose another port.',
    isConfiguration: false,
  },
  EADDRNOTAVAIL: {
    what: 'this machine does not have that address',
    todo: 'Name one of its own, such as 127.0.0.1, or 0.0.0.0 for all.',
    isConfiguration: true,
  },
  ENOTFOUND: {
    what: 'there is no host of that name',
    todo: 'Correct the name, or give an address.',
    isConfiguration: true,
  },
  EAI_AGAIN: {
    what: 'the name cannot be looked up now',
    todo: 'Look at the name server, or give an address.',
    isConfiguration: false,
  },
  EACCES: {
    what: 'this user may not listen on that port',
    todo: 'Choose a port from 1024 on, or give the process CAP_NET_BIND_SERVICE.',
    isConfiguration: true,
  },
  EINVAL: {
    what: 'that is no address to listen on',
    todo: 'Name one of this machine, such as 127.0.0.1.',
    isConfiguration: true,
  },
};

/** The gateway cannot listen on its configured address. The message names the address, the reason and the remedy. */
export class ListenError extends Error {
  /** True: the configuration is wrong. False: something else on the machine prevents it. */
  readonly isConfiguration: boolean;

  constructor(field: 'host' | 'admin.host', address: string, cause: NodeJS.ErrnoException) {
    const { code = '' } = cause;
    const unknown = { what: cause.message, todo: 'Choose another address.', isConfiguration: false };
    const { what, todo, isConfiguration } = FAULTS[code] ?? unknown;
    super(`The gateway cannot listen on ${address} (${field} and port): ${what} (${code}). ${todo}`, { cause });
    this.name = 'ListenError';
    this.isConfiguration = isConfiguration;
  }
}
