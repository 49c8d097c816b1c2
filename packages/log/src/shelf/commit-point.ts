/** The moments around a transaction at which a process may die and something else is true than before. */
export const commitPoints = [
  'before-begin',
  'after-begin',
  'after-insert',
  'before-commit',
  'after-commit',
  'before-tell',
  'after-tell',
] as const;

export type CommitPoint = (typeof commitPoints)[number];

/** Hears when a point is reached: for tests, which end their process there. */
export type OnPoint = (point: CommitPoint) => void;
