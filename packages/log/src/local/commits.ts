import { isMillraceError } from '@millrace/core';
import type { ShelfWriter } from '../shelf/shelf.ts';

/** Who hears what became of a piece of work, at once, before anybody who waits for it. */
export interface Ears<T> {
  /** After the commit. It must not throw. */
  readonly tell?: (value: T) => void;
  /** It was refused or could not be stored. May be called twice. */
  readonly fail?: (error: unknown) => void;
}

/** Puts what comes at once into one transaction. */
export interface Commits {
  /** How many there were, for those who measure. */
  readonly transactions: number;
  /** Each time that work is done it has another number, whatever became of it the last time. */
  readonly round: number;
  /**
   * Resolves when it is committed. Work that throws an error of ours must not have written anything
   * before; the others are committed all the same. It may be done again from the start.
   */
  run<T>(work: (shelf: ShelfWriter) => T, ears?: Ears<T>): Promise<T>;
  assertOpen(): void;
  /** Commits what waits, now; a promise where that takes a while. */
  flush(): void | Promise<void>;
  /** Commits what waits, and nothing more. */
  close(why: Error): void | Promise<void>;
}

export interface Job extends Ears<unknown> {
  readonly work: (shelf: ShelfWriter) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export type Outcome = { readonly value: unknown } | { readonly error: unknown };

export function refuse({ fail, reject }: Job, error: unknown): void {
  fail?.(error);
  reject(error);
}

/** A refusal concerns its own job; anything else is the store's, and concerns all. */
export function outcomeOf({ work, fail }: Job, shelf: ShelfWriter): Outcome {
  try {
    return { value: work(shelf) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Now, so that work of the same writer that comes after it in the same transaction knows.
    fail?.(error);
    return { error };
  }
}

/** Is it about what was asked for, and not about the store? */
export function isRefusal(error: unknown): boolean {
  return isMillraceError(error) && error.code !== 'storage' && error.code !== 'corrupt';
}
