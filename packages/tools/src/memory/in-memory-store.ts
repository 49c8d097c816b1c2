import {
  type VectorEntry,
  type VectorMatch,
  type VectorStore,
  VectorStoreError,
} from '../contract/vector-store.ts';
import {
  assertStoreOptions,
  checkEntries,
  checkName,
  checkQuery,
  checkWhole,
  maxDimensions,
} from './vector-checks.ts';

/** Options of `inMemoryVectorStore`. */
export interface InMemoryVectorStoreOptions {
  /** The length of the vectors that your embedding model returns. */
  readonly dimensions: number;
  /** Maximum number of entries. Default: 100,000. */
  readonly maxEntries?: number | undefined;
}

interface StoredEntry extends Omit<VectorMatch, 'similarity'> {
  readonly vector: Float32Array;
}

/**
 * Creates a store in the memory of the process. It compares the query with every entry of the scope. Use
 * it for tests and for up to some thousand texts.
 *
 * @example
 * const store = inMemoryVectorStore({ dimensions: 1536 });
 */
export function inMemoryVectorStore(options: InMemoryVectorStoreOptions): VectorStore {
  assertStoreOptions('inMemoryVectorStore', options, { dimensions: true, maxEntries: true });
  const { dimensions, maxEntries = 100_000 } = options;
  checkWhole('dimensions', dimensions, 1, maxDimensions);
  checkWhole('maxEntries', maxEntries, 1, 2 ** 24);
  const scopes = new Map<string, Map<string, StoredEntry>>();
  let count = 0;

  const removeIds = (scope: string, ids: Iterable<string>): number => {
    const entries = scopes.get(scope);
    let removed = 0;
    for (const id of ids) if (entries?.delete(id)) removed++;
    if (entries?.size === 0) scopes.delete(scope);
    count -= removed;
    return removed;
  };
  const idsOf = (scope: string, document: string): ReadonlySet<string> =>
    new Set(
      [...(scopes.get(scope)?.values() ?? [])].flatMap((entry) =>
        entry.document === document ? entry.id : [],
      ),
    );
  /** Replaces entries. It checks all entries before it changes the store. */
  const replace = (entries: readonly VectorEntry[], scope = '', gone: Iterable<string> = []) => {
    checkEntries(entries, dimensions);
    const removed = new Set(gone);
    const added = new Set(
      entries.flatMap((entry) => {
        const isNew = !scopes.get(entry.scope)?.has(entry.id);
        const isReplaced = entry.scope === scope && removed.has(entry.id);
        return isNew || isReplaced ? JSON.stringify([entry.scope, entry.id]) : [];
      }),
    );
    if (count - removed.size + added.size > maxEntries) {
      const message = `Cannot store more than ${maxEntries} entries: raise maxEntries, or use a database`;
      throw new VectorStoreError('full', message, { maxEntries });
    }
    removeIds(scope, removed);
    for (const entry of entries) {
      const all = scopes.get(entry.scope) ?? new Map<string, StoredEntry>();
      if (!all.has(entry.id)) count++;
      all.set(entry.id, storedEntry(entry));
      scopes.set(entry.scope, all);
    }
  };

  return {
    dimensions,
    put: async (entries) => replace(entries),
    replaceDocument: async (scope, document, entries) => {
      checkName('scope', scope);
      checkName('document', document);
      replace(asDocument(scope, document, entries), scope, idsOf(scope, document));
    },
    remove: async (scope, ids) => removeIds(scope, ids),
    search: async (query) => {
      checkQuery(query, dimensions);
      const wanted = Float32Array.from(query.vector);
      return [...(scopes.get(query.scope)?.values() ?? [])]
        .map(({ vector, ...entry }) => ({ ...entry, similarity: cosine(vector, wanted) }))
        .sort((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1))
        .slice(0, query.limit);
    },
  };
}

/**
 * Adds the id of the document to the entries. Throws if an entry has a different scope or document, because
 * this is a mistake of the caller.
 */
export function asDocument(
  scope: string,
  document: string,
  entries: readonly VectorEntry[],
): readonly VectorEntry[] {
  const other = entries.find(
    (entry) => entry.scope !== scope || (entry.document ?? document) !== document,
  );
  if (other === undefined) return entries.map((entry) => ({ ...entry, document }));
  const message = `Cannot store the entry ${other.id} as a part of ${document}: it names another scope or document`;
  throw new VectorStoreError('bad_value', message, { id: other.id });
}

function storedEntry({ id, text, vector, document, metadata }: VectorEntry): StoredEntry {
  return {
    ...{ id, text, vector: Float32Array.from(vector) },
    ...(document === undefined ? {} : { document }),
    ...(metadata === undefined ? {} : { metadata: structuredClone(metadata) }),
  };
}

function cosine(a: Float32Array, b: Float32Array): number {
  let product = 0;
  let lengthA = 0;
  let lengthB = 0;
  for (let at = 0; at < a.length; at++) {
    const [x = 0, y = 0] = [a[at], b[at]];
    product += x * y;
    lengthA += x * x;
    lengthB += y * y;
  }
  return product / Math.sqrt(lengthA * lengthB);
}
