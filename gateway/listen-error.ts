/** What is wrong with an address that the gateway cannot listen on, by the system's code. */
const FAULTS: Record<string, { what: string; todo: string }> = {
  EADDRINUSE: { what: 'the port is taken', todo: 'End what listens there, or choose another port.' },
  EADDRNOTAVAIL: {
    what: 'this machine does not have that address',
    todo: 'Name one of its own, such as 127.0.0.1, or 0.0.0.0 for all.',
  },
  ENOTFOUND: { what: 'there is no host of that name', todo: 'Correct the name, or give an address.' },
  EAI_AGAIN: { what: 'the name cannot be looked up now', todo: 'Look at the name server, or give an address.' },
  EACCES: {
    what: 'this user may not listen on that port',
    todo: 'Choose a port from 1024 on, or give the process CAP_NET_BIND_SERVICE.',
  },
  EINVAL: { what: 'that is no address to listen on', todo: 'Name one of this machine, such as 127.0.0.1.' },
};

/** The gateway cannot listen where its configuration says. The message says where, why, and what to do. */
export class ListenError extends Error {
  constructor(field: 'host' | 'admin.host', address: string, cause: NodeJS.ErrnoException) {
    const { code = '' } = cause;
    const { what, todo } = FAULTS[code] ?? { what: cause.message, todo: 'Choose another address.' };
    super(`The gateway cannot listen on ${address} (${field} and port): ${what} (${code}). ${todo}`, { cause });
    this.name = 'ListenError';
  }

  /** Whether the configuration is wrong, and not what else runs on the machine. */
  get isConfiguration(): boolean {
    return (this.cause as NodeJS.ErrnoException).code !== 'EADDRINUSE';
  }
}
