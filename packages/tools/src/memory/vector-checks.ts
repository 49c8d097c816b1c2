import { assertOptionNames, type OptionNames } from '@millrace/core';
import { type VectorEntry, type VectorQuery, VectorStoreError } from '../contract/vector-store.ts';

/** Maximum number of matches of one search. */
const maxMatches = 1000;

/** Throws `bad_value` for an option that does not exist. */
export function assertStoreOptions<Options extends object>(
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertOptionNames(of, options, names, (message, option) => {
    return new VectorStoreError('bad_value', message, { of, option });
  });
}

/** Throws if the value is not a whole number in the range. */
export function checkWhole(option: string, value: unknown, min: number, max: number): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max)
    return;
  const way = `use a whole number from ${min} to ${max}`;
  throw new VectorStoreError('bad_value', `Cannot use ${String(value)} as ${option}: ${way}`, {
    option,
  });
}

/** Maximum number of dimensions. All supported databases can store vectors of this length. */
export const maxDimensions = 8192;

/** Throws if an entry is invalid. All stores call it before a write, so they reject the same entries. */
export function checkEntries(entries: readonly VectorEntry[], dimensions: number): void {
  for (const { id, scope, text, vector, document } of entries) {
    checkName('scope', scope);
    checkName('id', id);
    if (document !== undefined) checkName('document', document);
    checkText('text', text, id);
    checkVector(vector, dimensions, id);
  }
}

/** Throws if a query is invalid. All stores call it before a search. */
export function checkQuery({ scope, vector, limit }: VectorQuery, dimensions: number): void {
  checkName('scope', scope);
  checkWhole('limit', limit, 1, maxMatches);
  checkVector(vector, dimensions, 'query');
}

/** Throws if a name is empty, too long, or impossible to store in a database. */
export function checkName(field: string, value: unknown): void {
  const isName = typeof value === 'string' && value !== '' && value.length <= 512;
  if (isName) return checkText(field, value, value);
  throw new VectorStoreError(
    'bad_value',
    `Cannot use this ${field}: it must have 1 to 512 characters`,
    { field },
  );
}

/**
 * Throws if a database cannot store the text. Postgres cannot store the character 0, and no database can
 * store a lone surrogate.
 */
function checkText(field: string, value: unknown, id: string): void {
  if (typeof value === 'string' && value.isWellFormed() && !value.includes('\0')) return;
  const problem = 'it must be a well-formed text without the character U+0000';
  throw new VectorStoreError('bad_value', `Cannot store the ${field} of ${id}: ${problem}`, { id });
}

function checkVector(vector: unknown, dimensions: number, id: string): void {
  if (!Array.isArray(vector) || vector.length !== dimensions) {
    const found = Array.isArray(vector) ? `${vector.length} numbers` : 'no list of numbers';
    const way = 'Use the same embedding model and dimensions for all texts of a store';
    const message = `Cannot use the vector of ${id}: it has ${found}, and the store needs ${dimensions}. ${way}`;
    throw new VectorStoreError('wrong_dimensions', message, { id });
  }
  const isDirection =
    vector.every((value) => Number.isFinite(Math.fround(value))) &&
    vector.some((value) => Math.fround(value) !== 0);
  if (isDirection) return;
  const message = `Cannot use the vector of ${id}: it must have finite numbers that are not all 0`;
  throw new VectorStoreError('bad_value', message, { id });
}

/**
 * Throws if a table name has special characters. The name becomes part of SQL statements, so it must be
 * plain.
 */
export function checkTableName(table: string): void {
  if (/^[a-z_][a-z0-9_]{0,50}$/.test(table)) return;
  const message = `Cannot use ${JSON.stringify(table)} as table: use lower-case letters, digits and underscores`;
  throw new VectorStoreError('bad_value', message, { option: 'table' });
}
