import { type JsonObject, MillraceError } from '@millrace/core';

/** A text with its vector. */
export interface VectorEntry {
  /** The id of the entry. It is unique in its scope. */
  readonly id: string;
  /**
   * The owner of the entry, for example the id of a user. A search finds only entries of its own scope.
   */
  readonly scope: string;
  readonly text: string;
  /** The vector, with as many numbers as the store has dimensions. At least one number is not 0. */
  readonly vector: readonly number[];
  /** The document that the text is a part of. Default: none. */
  readonly document?: string | undefined;
  /** Data for the program, for example a title or a date. Default: none. */
  readonly metadata?: JsonObject | undefined;
}

/** A search for the nearest entries. */
export interface VectorQuery {
  readonly scope: string;
  readonly vector: readonly number[];
  /** Maximum number of matches, from 1 to 1000. */
  readonly limit: number;
}

/** An entry that a search found. */
export interface VectorMatch extends Omit<VectorEntry, 'vector' | 'scope'> {
  /** The cosine of the angle between the two vectors. It is 1 if they have the same direction. */
  readonly similarity: number;
}

/**
 * Stores texts with their vectors. Implement it for a database of your own. Each method must be atomic,
 * and safe to repeat.
 */
export interface VectorStore {
  /** The length of all vectors. */
  readonly dimensions: number;
  /** Adds entries. An entry with the same scope and id is replaced. */
  put(entries: readonly VectorEntry[]): Promise<void>;
  /**
   * Returns the nearest entries of a scope, the best first. Entries with the same similarity are ordered
   * by id.
   */
  search(query: VectorQuery): Promise<readonly VectorMatch[]>;
  /** Deletes entries by their ids. Returns the number of deleted entries. */
  remove(scope: string, ids: readonly string[]): Promise<number>;
  /** Replaces all entries of a document. An empty list deletes the document. */
  replaceDocument(scope: string, document: string, entries: readonly VectorEntry[]): Promise<void>;
}

/** Codes of a `VectorStoreError`. */
export type VectorStoreErrorCode =
  /** An option, an entry or a query has an invalid value. */
  | 'bad_value'
  /** A vector does not have as many numbers as the store has dimensions. */
  | 'wrong_dimensions'
  /** The store has reached its maximum number of entries. */
  | 'full'
  /** The database does not have the extension for vectors. */
  | 'no_extension';

/** Thrown if a vector store rejects a value, or cannot work. `place` names the entry or the option. */
export class VectorStoreError extends MillraceError<VectorStoreErrorCode> {}
