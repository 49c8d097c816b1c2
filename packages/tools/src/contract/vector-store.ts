import { type JsonObject, MillraceError } from '@millrace/core';

/** A text with its vector. */
export interface VectorEntry {
  /** Unique in its scope. */
  readonly id: string;
  /** Whose entry it is, for example the id of a user. Searches see only their own scope. */
  readonly scope: string;
  readonly text: string;
  /** As many numbers as the store has dimensions. Not all of them are 0. */
  readonly vector: readonly number[];
  /** The document that the text is a part of. Default: none. */
  readonly document?: string | undefined;
  /** Facts for the program, for example a title or a date. Default: none. */
  readonly metadata?: JsonObject | undefined;
}

/** What to search for. */
export interface VectorQuery {
  readonly scope: string;
  readonly vector: readonly number[];
  /** Maximum number of matches, from 1 to 1000. */
  readonly limit: number;
}

/** An entry that a search found. */
export interface VectorMatch extends Omit<VectorEntry, 'vector' | 'scope'> {
  /** The cosine of the angle between the two vectors: 1 for the same direction. */
  readonly similarity: number;
}

/**
 * Stores texts with their vectors. Implement it for a database of your own. Each method is atomic, and
 * is safe to repeat.
 */
export interface VectorStore {
  /** The length of all vectors. */
  readonly dimensions: number;
  /** Adds entries. An entry with the same scope and id is replaced. */
  put(entries: readonly VectorEntry[]): Promise<void>;
  /** Returns the nearest entries of a scope, the best first. Equal ones are ordered by id. */
  search(query: VectorQuery): Promise<readonly VectorMatch[]>;
  /** Deletes entries by their ids. Returns how many there were. */
  remove(scope: string, ids: readonly string[]): Promise<number>;
  /** Replaces all entries of a document. Without entries it deletes the document. */
  replaceDocument(scope: string, document: string, entries: readonly VectorEntry[]): Promise<void>;
}

/** Codes of a `VectorStoreError`. */
export type VectorStoreErrorCode =
  /** An option, an entry or a query has an invalid value. */
  | 'bad_value'
  /** A vector does not have the length that the store needs. */
  | 'wrong_dimensions'
  /** The store has reached its maximum number of entries. */
  | 'full'
  /** The database does not have the extension for vectors. */
  | 'no_extension';

/** A store of vectors rejected a value, or cannot work. `place` names the entry or the option. */
export class VectorStoreError extends MillraceError<VectorStoreErrorCode> {}
