import { getHeapStatistics } from 'node:v8';
import { ApiError } from './errors';

/** Memory that one request needs. */
export interface MemoryLease {
  /**
   * Sets the current memory of the request, in bytes. Throws ApiError 503 if all requests together would need too much.
   */
  take(bytes: number): void;
  /** Ends the request. */
  end(): void;
}

/** Limits the total memory of requests in progress and their answers, so that many of them cannot crash the process. */
export class MemoryBudget {
  private taken = 0;

  /** `limit` in bytes; default: half of the process's heap. */
  constructor(private readonly limit: number = getHeapStatistics().heap_size_limit / 2) {}

  /** A lease for 0 bytes. */
  lease(): MemoryLease {
    let own = 0;
    return {
      take: (bytes) => {
        if (bytes > own && this.taken + bytes - own > this.limit)
          throw new ApiError(503, 'The gateway has no memory left for this request. Send it again later.', {
            code: 'overloaded',
            headers: { 'retry-after': '1' },
          });
        this.taken += bytes - own;
        own = bytes;
      },
      end: () => {
        this.taken -= own;
        own = 0;
      },
    };
  }
}
