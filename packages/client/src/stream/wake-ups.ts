/**
 * Network events that a browser reports. After `online` and `visible` a reconnect is likely to
 * succeed.
 */
export type WakeUp = 'online' | 'offline' | 'visible';

/** Calls the listener until the returned function is called. */
export type WakeUps = (listener: (what: WakeUp) => void) => () => void;

/** The browser APIs that are used. In Node they are absent. */
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
      // A page from the back/forward cache was frozen, and its connections are gone.
      [page, 'pageshow', onVisible],
      [document, 'visibilitychange', onVisible],
    ];
    for (const [target, name, run] of heard) target?.addEventListener?.(name, run);
    return () => {
      for (const [target, name, run] of heard) target?.removeEventListener?.(name, run);
    };
  };
}

/** The events of the current page, if there is one. */
export const pageWakeUps: WakeUps = (listener) => wakeUpsOf(globalThis as Page)(listener);
