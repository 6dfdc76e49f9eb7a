import { getHeapStatistics } from 'node:v8';
import { ApiError } from './errors';

/** Memory that one request takes. */
export interface MemoryLease {
  /**
   * Sets the memory that the request takes now, in bytes. Throws ApiError 503 when all requests together would take too
   * much.
   */
  take(bytes: number): void;
  /** Ends the request. */
  end(): void;
}

/** Limits the memory that requests under way and their answers take together, so that many of them end no process. */
export class MemoryBudget {
  private taken = 0;

  /** `limit` in bytes; default: half of the process's heap. */
  constructor(private readonly limit: number = getHeapStatistics().heap_size_limit / 2) {}

  /** A lease of nothing yet. */
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
