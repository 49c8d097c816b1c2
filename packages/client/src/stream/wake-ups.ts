/** An event of the browser. After `online` or `visible`, a reconnect will probably succeed. */
export type WakeUp = 'online' | 'offline' | 'visible';

/** Registers a listener. The returned function removes it. */
export type WakeUps = (listener: (what: WakeUp) => void) => () => void;

/** The browser APIs that this file uses. They do not exist in Node. */
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
      // The browser froze a page in the back/forward cache, so its connections are lost.
      [page, 'pageshow', onVisible],
      [document, 'visibilitychange', onVisible],
    ];
    for (const [target, name, run] of heard) target?.addEventListener?.(name, run);
    return () => {
      for (const [target, name, run] of heard) target?.removeEventListener?.(name, run);
    };
  };
}

/** The events of the current page. Outside of a browser, there are no events. */
export const pageWakeUps: WakeUps = (listener) => wakeUpsOf(globalThis as Page)(listener);
