import { type JsonObject, MillraceError } from '@millrace/core';

/** A text with its vector. */
export interface VectorEntry {
  /** The id of the entry. It is unique in its scope. */
  readonly id: string;
  /** The owner of the entry, for example the id of a user. A search finds only entries of one scope. */
  readonly scope: string;
  readonly text: string;
  /** The vector. Its length is the number of dimensions of the store. At least one number is not 0. */
  readonly vector: readonly number[];
  /** The document that contains the text. Default: none. */
  readonly document?: string | undefined;
  /** Data of the application, for example a title or a date. Default: none. */
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
  /** The cosine of the angle between the two vectors. It is 1 if the vectors have the same direction. */
  readonly similarity: number;
}

/**
 * Stores texts with their vectors. Implement this interface to use your own database. Each method must be
 * atomic and safe to repeat.
 */
export interface VectorStore {
  /** The length of all vectors. */
  readonly dimensions: number;
  /** Adds entries. An existing entry with the same scope and id is replaced. */
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
  /** The length of a vector differs from the number of dimensions of the store. */
  | 'wrong_dimensions'
  /** The store has reached its maximum number of entries. */
  | 'full'
  /** The database does not have its extension for vectors. */
  | 'no_extension';

/**
 * Thrown if a vector store refuses a value, or if it cannot work. `place` contains the entry or the option.
 */
export class VectorStoreError extends MillraceError<VectorStoreErrorCode> {}
