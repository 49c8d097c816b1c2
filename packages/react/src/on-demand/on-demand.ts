import { useEffect, useState } from 'react';

/** Code that loads when a component needs it. */
export interface OnDemand<T> {
  /** Loads the code. Later calls return the same promise, except after a failure. */
  load(): Promise<T>;
  /**
   * A hook that returns the code. It returns undefined until the code is loaded, or if `isNeeded`
   * is false. It calls `onFailure` if the code cannot be loaded.
   */
  useLoaded(isNeeded: boolean, onFailure?: () => void): T | undefined;
}

/**
 * Creates a loader for code. The code can fail to load, so each component must also work without
 * it.
 */
export function onDemand<T extends object>(load: () => Promise<T>): OnDemand<T> {
  let loaded: T | undefined;
  let loading: Promise<T> | undefined;
  const loadOnce = () => {
    loading ??= load().then(
      (code) => {
        loaded = code;
        return code;
      },
      (error: unknown) => {
        // The next component that needs the code tries again.
        loading = undefined;
        throw error;
      },
    );
    return loading;
  };
  return {
    load: loadOnce,
    useLoaded(isNeeded, onFailure) {
      const [code, setCode] = useState(loaded);
      // biome-ignore lint/correctness/useExhaustiveDependencies: `loadOnce` is the same at each rendering, and a new `onFailure` is no reason to load again
      useEffect(() => {
        if (!isNeeded || code !== undefined) return;
        let isOver = false;
        loadOnce().then(
          (found) => !isOver && setCode(found),
          () => !isOver && onFailure?.(),
        );
        return () => {
          isOver = true;
        };
      }, [isNeeded, code]);
      return isNeeded ? code : undefined;
    },
  };
}
