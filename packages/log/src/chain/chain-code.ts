import { assertCanHash, newChain } from './link.ts';
import { sealBatch } from './seal.ts';

/** The functions that an append to a session with a chain needs. */
export interface ChainCode {
  readonly newChain: typeof newChain;
  readonly sealBatch: typeof sealBatch;
}

/** Returns the functions. Throws `bad_option` if this runtime has no synchronous SHA-256. */
export function chainCode(): ChainCode {
  assertCanHash();
  return { newChain, sealBatch };
}
