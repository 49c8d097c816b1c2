import { errorText } from '@millrace/react';
import { pageClock } from '@millrace/react/controls';
import { useEffect, useState } from 'react';
import { useApp } from '../app/app-context.ts';
import { pageLabels } from '../languages/page-labels.ts';

/** The time until the next request while new results are expected. */
const soonMs = 2000;
/** The time until the next request in all other cases. */
const laterMs = 10_000;

interface Polled<T> {
  /** The last reply. Undefined until the first reply for this path arrives. */
  readonly value: T | undefined;
  readonly error: string | undefined;
}

/**
 * Requests a path again and again while the page is visible. `isLive` returns true if the next reply
 * is expected to differ soon.
 */
export function usePolled<T>(path: string | undefined, isLive: (value: T) => boolean): Polled<T> {
  const t = pageLabels();
  const { api } = useApp();
  const [state, setState] = useState<Polled<T> & { readonly path?: string }>(nothing);
  // biome-ignore lint/correctness/useExhaustiveDependencies: isLive is a constant of the caller
  useEffect(() => {
    if (path === undefined) return;
    const stop = new AbortController();
    let cancel = () => {};
    const poll = async () => {
      let waitMs = laterMs;
      if (document.visibilityState === 'visible')
        try {
          const value = (await api.get(path, stop.signal)) as unknown as T;
          if (stop.signal.aborted) return;
          setState({ path, value, error: undefined });
          if (isLive(value)) waitMs = soonMs;
        } catch (reason) {
          if (stop.signal.aborted) return;
          setState((before) => ({ ...before, error: errorText(reason, t) }));
        }
      cancel = pageClock.after(waitMs, () => void poll());
    };
    const onVisible = () => {
      if (document.visibilityState !== 'visible') return;
      cancel();
      void poll();
    };
    document.addEventListener('visibilitychange', onVisible);
    void poll();
    return () => {
      stop.abort();
      cancel();
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [api, path, t]);
  return state;
}

const nothing = { value: undefined, error: undefined };
