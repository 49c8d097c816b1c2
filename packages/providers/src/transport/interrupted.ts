import type { Deadline } from './deadlines.ts';

/** Who ended it, if not the server: the caller's signal, or a deadline. */
export type Interruption =
  | { readonly by: 'signal'; readonly reason: unknown }
  | { readonly by: 'deadline'; readonly deadline: Deadline; readonly afterMs: number };

export class Interrupted extends Error {
  readonly interruption: Interruption;

  constructor(interruption: Interruption) {
    super(`interrupted by ${interruption.by}`);
    this.interruption = interruption;
  }
}

/** The connection could not be made, or broke. */
export class NetworkFailure extends Error {}
