/** What a browser notices that a connection does not: `online` and `visible` are good news. */
export type WakeUp = 'online' | 'offline' | 'visible';

/** Calls back until the returned function is called. */
export type WakeUps = (listener: (what: WakeUp) => void) => () => void;

/** As much of it as there is: in Node, nothing. */
interface Page extends Partial<EventTarget> {
  readonly document?: Partial<EventTarget> & { readonly visibilityState?: string };
}

type Heard = readonly [Partial<EventTarget> | undefined, string, () => void];

export function wakeUpsOf(page: Page): WakeUps {
  return (listener) => {
    const { document } = page;
    const onVisible = () => {
      if (document?.visibilityState !== 'hidden') listener('visible');
    };
    const heard: readonly Heard[] = [
      [page, 'online', () => listener('online')],
      [page, 'offline', () => listener('offline')],
      // A page that comes out of the cache was frozen, and its connections are gone.
      [page, 'pageshow', onVisible],
      [document, 'visibilitychange', onVisible],
    ];
    for (const [target, name, run] of heard) target?.addEventListener?.(name, run);
    return () => {
      for (const [target, name, run] of heard) target?.removeEventListener?.(name, run);
    };
  };
}

/** Those of the page that it runs in, where it does. */
export const pageWakeUps: WakeUps = (listener) => wakeUpsOf(globalThis as Page)(listener);
