// These types describe the part of the web platform that the store uses. With these types, the package
// compiles without the type library of browsers. Other code of the package therefore cannot use a browser
// function by mistake.

/** A key of IndexedDB. Binary keys are ordered by their bytes, and arrays by their elements. */
export type IdbKey = number | string | Uint8Array | readonly IdbKey[];

/** A range of keys. */
export type IdbRange = object & { readonly lower?: unknown };

/** A pending request. */
export interface IdbRequest<T> {
  readonly result: T;
  readonly error: Error | null;
  onsuccess: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
}

/** The reading methods of stores and indexes. */
interface IdbReadable {
  get(key: IdbKey): IdbRequest<unknown>;
  getKey(key: IdbKey): IdbRequest<unknown>;
  getAll(range: IdbRange | null, count?: number): IdbRequest<unknown[]>;
  getAllKeys(range: IdbRange | null): IdbRequest<unknown[]>;
  count(key: IdbKey): IdbRequest<number>;
}

/** An object store in a transaction. */
interface IdbStore extends IdbReadable {
  put(value: unknown, key?: IdbKey): IdbRequest<unknown>;
  delete(key: IdbKey | IdbRange): IdbRequest<unknown>;
  index(name: string): IdbReadable;
  createIndex(name: string, keyPath: string | string[]): unknown;
}

/** A transaction. It commits automatically when it has no pending request. */
export interface IdbTransaction {
  readonly error: Error | null;
  objectStore(name: string): IdbStore;
  abort(): void;
  oncomplete: ((event: never) => void) | null;
  onabort: ((event: never) => void) | null;
}

/** An open connection to a database. */
export interface IdbDatabase {
  readonly name: string;
  createObjectStore(name: string, options?: { keyPath: string }): IdbStore;
  transaction(
    stores: readonly string[],
    mode: 'readonly' | 'readwrite',
    options?: { durability: 'relaxed' | 'strict' },
  ): IdbTransaction;
  close(): void;
  onclose: ((event: never) => void) | null;
  onversionchange: ((event: never) => void) | null;
}

interface OpenRequest extends IdbRequest<IdbDatabase> {
  onupgradeneeded: ((event: never) => void) | null;
  onblocked: ((event: never) => void) | null;
}

interface LockManager {
  request(
    name: string,
    options: { readonly signal: AbortSignal },
    hold: () => Promise<void>,
  ): Promise<unknown>;
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>;
}

interface MessageBus {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(message: unknown): void;
  close(): void;
}

/** The globals of a page or a worker. Each global is missing in some runtimes. */
interface WebGlobals {
  readonly indexedDB?: { open(name: string, version: number): OpenRequest };
  readonly IDBKeyRange?: {
    bound(lower: IdbKey, upper: IdbKey, lowerOpen?: boolean, upperOpen?: boolean): IdbRange;
    lowerBound(lower: IdbKey, isOpen?: boolean): IdbRange;
  };
  readonly BroadcastChannel?: new (name: string) => MessageBus;
  readonly navigator?: { readonly locks?: LockManager };
}

/** Returns the globals of the web platform. */
export function webGlobals(): WebGlobals {
  return globalThis as unknown as WebGlobals;
}
