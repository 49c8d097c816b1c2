import type { JsonObject, JsonValue } from '@millrace/core';
import type { App } from '../app/app-context.ts';
import type { DirectoryState, ListedTask } from '../server/directory.ts';

interface FakeApp {
  readonly app: App;
  /** What was posted, in order. */
  readonly posted: readonly (readonly [path: string, body: JsonObject])[];
  /** Sessions that were asked for by themselves. */
  readonly looked: readonly string[];
}

interface FakeAppOptions {
  readonly tasks?: readonly ListedTask[];
  readonly post?: (path: string, body: JsonObject) => Promise<JsonValue>;
}

/** What a page reaches, without a server behind it. */
export function fakeApp({ tasks = [], post }: FakeAppOptions = {}): FakeApp {
  const posted: [string, JsonObject][] = [];
  const looked: string[] = [];
  const state: DirectoryState = {
    ...{ isLoaded: true, agents: [], tasks, hasMore: false, others: new Map() },
    error: undefined,
  };
  const app = {
    api: {
      post: (path: string, body: JsonObject) => {
        posted.push([path, body]);
        return post?.(path, body) ?? Promise.resolve({});
      },
      put: async () => ({}),
    },
    directory: {
      state: () => state,
      subscribe: () => () => {},
      refresh: async () => {},
      look: async (id: string) => void looked.push(id),
    },
    outbox: { subscribe: () => () => {}, of: () => none, add: () => true },
  } as unknown as App;
  return { app, posted, looked };
}

const none = [] as const;

/** A session of an agent loop. */
export function loopTask(id: string): ListedTask {
  const agent = { name: 'builder', registration_metadata: { kind: 'loop' } };
  return { id, agents: [agent], task_metadata: null } as unknown as ListedTask;
}

/** A browser's storage of one test. */
export function memoryStorage(): () => Storage {
  const kept = new Map<string, string>();
  const storage: Storage = {
    get length() {
      return kept.size;
    },
    clear: () => kept.clear(),
    getItem: (key) => kept.get(key) ?? null,
    key: (at) => [...kept.keys()][at] ?? null,
    removeItem: (key) => void kept.delete(key),
    setItem: (key, value) => void kept.set(key, value),
  };
  return () => storage;
}
