import { isMillraceError } from '@millrace/core';
import { LogError, type LogErrorCode } from '../contract/log-error.ts';
import {
  type IdbDatabase,
  type IdbKey,
  type IdbRange,
  type IdbRequest,
  type IdbTransaction,
  webGlobals,
} from './web-platform.ts';

/** The version of the object stores. To change them, increase it and add a step to `createStores`. */
const schemaVersion = 1;

/** The names of the object stores. `made` is the generation number of a session. */
export const stores = {
  /** Session rows. The key is the UTF-8 bytes of the id, so rows are in the order of code points. */
  sessions: 'sessions',
  /** Rows of records. The key is [made, last offset]. */
  chunks: 'chunks',
  /** Producer rows. The key is [made, name]. */
  producers: 'producers',
  /** Command rows. The key is [made, key]. */
  commands: 'commands',
  /** The bytes of blobs. The key is the hash. */
  blobs: 'blobs',
  /** Holds of blobs by hash. A hold keeps a stored blob until a record references it. */
  holds: 'holds',
  /** For each session and blob, how many records reference the blob. The key is [made, hash]. */
  uses: 'uses',
  /** The counters for epochs and generation numbers. */
  counters: 'counters',
} as const;

const allStores: readonly string[] = Object.values(stores);

/** A connection to the database. It opens at its first use, and again after the browser has closed it. */
export class LogDatabase {
  readonly name: string;
  readonly #durability: 'relaxed' | 'strict';
  #open: Promise<IdbDatabase> | undefined;
  #pending = 0;

  constructor(name: string, durability: 'relaxed' | 'strict') {
    this.name = name;
    this.#durability = durability;
  }

  /** True if no transaction is running. */
  get isIdle(): boolean {
    return this.#pending === 0;
  }

  /** Runs a transaction. Resolves after the commit. If `work` throws, the transaction is aborted. */
  async transact<T>(
    mode: 'readonly' | 'readwrite',
    work: (tx: IdbTransaction) => Promise<T>,
  ): Promise<T> {
    this.#pending++;
    try {
      const tx = await this.#begin(mode);
      const done = transactionDone(tx);
      // If `work` fails, its error is thrown instead of this one.
      done.catch(() => {});
      try {
        const value = await work(tx);
        await done;
        return value;
      } catch (error) {
        abort(tx);
        throw error;
      }
    } catch (error) {
      throw storageError(error, this.name);
    } finally {
      this.#pending--;
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    (await open?.catch(() => undefined))?.close();
  }

  async #begin(mode: 'readonly' | 'readwrite'): Promise<IdbTransaction> {
    const options = { durability: this.#durability };
    try {
      return (await this.#opened()).transaction(allStores, mode, options);
    } catch (error) {
      // The browser closes a connection when the user clears the data of the site. The code then opens a new
      // connection.
      if ((error as { readonly name?: string }).name !== 'InvalidStateError') throw error;
      this.#open = undefined;
      return (await this.#opened()).transaction(allStores, mode, options);
    }
  }

  #opened(): Promise<IdbDatabase> {
    this.#open ??= this.#connect();
    return this.#open;
  }

  async #connect(): Promise<IdbDatabase> {
    try {
      const database = await openDatabase(this.name);
      const forget = () => {
        this.#open = undefined;
      };
      database.onclose = forget;
      // Another tab wants to delete or upgrade the database, and waits until this connection is closed.
      database.onversionchange = () => {
        forget();
        database.close();
      };
      return database;
    } catch (error) {
      this.#open = undefined;
      throw error;
    }
  }
}

/** Resolves with the result of a request. The transaction stays active until the next macrotask. */
export function answerOf<T>(request: IdbRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the request failed'));
  });
}

/** Returns the range of all keys of a session. These keys begin with `made`. */
export function ownedBy(made: number): IdbRange {
  // In the order of keys, an array comes after every number, text and binary key.
  return keyRange([made], [made, []]);
}

/** Returns the range of keys from `lower` to `upper`, including both. */
export function keyRange(lower: IdbKey, upper: IdbKey): IdbRange {
  return required('IDBKeyRange').bound(lower, upper);
}

/** Returns the range of keys after `lower`. */
export function keysAfter(lower: IdbKey): IdbRange {
  return required('IDBKeyRange').lowerBound(lower, true);
}

async function openDatabase(name: string): Promise<IdbDatabase> {
  const request = required('indexedDB').open(name, schemaVersion);
  request.onupgradeneeded = () => createStores(request.result);
  return answerOf(request);
}

function createStores(database: IdbDatabase): void {
  const sessions = database.createObjectStore(stores.sessions, { keyPath: 'key' });
  // Rows of sessions without work have no field `work`, so this index does not contain them.
  sessions.createIndex('work', ['work', 'key']);
  database.createObjectStore(stores.uses).createIndex('hash', 'hash');
  for (const name of allStores)
    if (name !== stores.sessions && name !== stores.uses) database.createObjectStore(name);
}

function transactionDone(tx: IdbTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    tx.oncomplete = () => resolve();
    tx.onabort = () => reject(tx.error ?? new Error('the transaction was aborted'));
  });
}

function abort(tx: IdbTransaction): void {
  try {
    tx.abort();
  } catch {
    // The error is ignored, because the transaction has already ended.
  }
}

function required<Name extends 'indexedDB' | 'IDBKeyRange'>(name: Name) {
  const found = webGlobals()[name];
  if (found !== undefined) return found;
  const message = `Cannot open a log in IndexedDB: this runtime has no ${name}. Use another log`;
  throw new LogError('storage', message);
}

const meanings: Readonly<Record<string, string>> = {
  QuotaExceededError:
    'the storage of this site is full; delete sessions, or ask for more with navigator.storage.persist()',
  VersionError: 'a later version of the program wrote it; use that version',
  SecurityError: 'the browser forbids storage for this page; allow site data',
};

const codes: Readonly<Record<string, LogErrorCode>> = {
  QuotaExceededError: 'storage_full',
  VersionError: 'too_new',
};

/** Converts any error into a `LogError`. */
function storageError(error: unknown, database: string): Error {
  if (isMillraceError(error)) return error;
  const { name = '', message = String(error) } = error as Partial<Error>;
  const why = meanings[name] ?? 'the browser reported an error; try again';
  const code = codes[name] ?? 'storage';
  const text = `Cannot use the log ${database} in IndexedDB: ${why} (${name}: ${message})`;
  return new LogError(code, text, { database }, { cause: error });
}
