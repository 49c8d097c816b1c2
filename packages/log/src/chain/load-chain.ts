import { LogError } from '../contract/log-error.ts';
import type { ChainCode } from './seal.ts';

/** The code of hash chains. It is imported on demand, because most programs use no chain. */
let loaded: ChainCode | undefined;

/**
 * Loads the code of hash chains. Throws `bad_option` if this runtime has no synchronous SHA-256. Transactions
 * are synchronous, so an operation calls this function before its transaction.
 */
export async function loadChain(): Promise<ChainCode> {
  return provideChain((await import('./seal.ts')).createChainCode());
}

/** Provides the code to appends. Operations that already import it call this function in their transactions. */
export function provideChain(code: ChainCode): ChainCode {
  loaded ??= code;
  return loaded;
}

/** Returns whether `loadChain` has finished. */
export function isChainLoaded(): boolean {
  return loaded !== undefined;
}

/** Thrown inside a transaction on a session with a chain, before `loadChain` was called. */
export class ChainNotLoaded extends LogError {
  constructor() {
    super('bad_option', 'The code of hash chains is not loaded');
  }
}

/** Returns the code of hash chains. Throws `ChainNotLoaded` if it is not loaded. */
export function chainCode(): ChainCode {
  if (loaded === undefined) throw new ChainNotLoaded();
  return loaded;
}
