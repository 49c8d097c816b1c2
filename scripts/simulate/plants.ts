import { registerHooks } from 'node:module';

/** Faults of earlier versions. The simulation can plant them again to prove that it finds them. */
export const plants = ['A', 'B', 'C'] as const;

/**
 * - A: the rows ignore the epochs of runs, and a fenced run sets its task to FAILED.
 * - B: a rewound store keeps its incarnation and its counters.
 * - C: leases depend on the time of day.
 */
export type Plant = (typeof plants)[number];

/** A change to a source file that removes a fix. It replaces the text `find` with `replace`. */
interface Mutation {
  /** The path of the source file in the repository. The URL of the loaded module ends with it. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/**
 * The source changes for each planted fault. Fault B and a part of fault A need no change here,
 * because the store models implement them.
 */
const mutations: Readonly<Record<Plant, readonly Mutation[]>> = {
  A: [
    {
      file: 'packages/server/src/stores/task-status.ts',
      find: "(cause === 'held' || cause === 'fenced')",
      replace: "cause === 'held'",
    },
  ],
  B: [],
  C: [],
};

/**
 * Changes source files for a planted fault while they are loaded. Call it before any module imports
 * them. The returned function throws if a file was not loaded, or if it did not contain the
 * searched text. So a missing change is always detected.
 */
export function plantFault(plant: Plant): () => void {
  const missing = new Set(mutations[plant]);
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const mutation = mutations[plant].find(({ file }) => url.endsWith(file));
      if (mutation === undefined || loaded.source === undefined) return loaded;
      const { find, replace } = mutation;
      const source = Buffer.from(loaded.source as Uint8Array).toString();
      if (source.includes(find)) missing.delete(mutation);
      return { ...loaded, source: source.replace(find, replace) };
    },
  });
  return () => {
    for (const { file, find } of missing)
      throw new Error(`Cannot plant fault ${plant}: ${file} does not contain ${find}`);
  };
}
