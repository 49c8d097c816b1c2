import { registerHooks } from 'node:module';

/** Faults of earlier versions. The simulation can plant them again, to show that it finds them. */
export const plants = ['A', 'B', 'C'] as const;

/**
 * - A: the rows ignore the epochs of runs, and a run that was fenced sets its task to FAILED.
 * - B: a store that was rewound keeps its incarnation and its counters.
 * - C: the time of day decides about leases.
 */
export type Plant = (typeof plants)[number];

/** A change to a source file that removes a fix: it replaces the text `find` with `replace`. */
interface Mutation {
  /** The path of the source file in the repository. The URL of a loaded module must end with it. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/**
 * The changes of each planted fault. Fault B and a part of fault A need no change, because the
 * store models contain them.
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
 * Changes the sources of a planted fault while they are loaded. Call it before any module imports
 * them. The returned function throws if a source was not loaded or does not contain the searched
 * text. So a planted fault is never missing unnoticed.
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
