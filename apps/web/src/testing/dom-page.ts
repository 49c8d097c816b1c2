import { type HTMLElement, Window } from 'happy-dom';
import { act, type ReactNode } from 'react';
import { onTestFinished } from 'vitest';

export interface DomPage {
  render(node: ReactNode): Promise<void>;
  /** Does something, and has all that follows from it rendered. */
  act(work: () => void | Promise<void>): Promise<void>;
  find(selector: string): HTMLElement;
  press(target: HTMLElement, key: string, options?: { readonly shiftKey?: boolean }): Promise<void>;
}

/** A page at a URL to render into, for one test. React looks for a window when it is loaded, so that comes first. */
export async function openDomPage(url: string): Promise<DomPage> {
  const window = new Window({ url });
  const { document, location } = window;
  const given = { window, document, location, IS_REACT_ACT_ENVIRONMENT: true };
  Object.assign(globalThis, given);
  const { createRoot } = await import('react-dom/client');
  const container = document.createElement('main');
  document.body.append(container);
  const root = createRoot(container as unknown as Parameters<typeof createRoot>[0]);
  onTestFinished(async () => {
    await act(async () => root.unmount());
    for (const name of Object.keys(given)) Reflect.deleteProperty(globalThis, name);
    await window.happyDOM.close();
  });
  return {
    render: (node) => act(async () => root.render(node)),
    act: (work) => act(async () => work()),
    find(selector) {
      const found = container.querySelector(selector);
      if (found === null) throw new Error(`There is no ${selector} on the page`);
      return found as HTMLElement;
    },
    press: (target, key, options = {}) =>
      act(async () => {
        target.dispatchEvent(
          new window.KeyboardEvent('keydown', { key, bubbles: true, ...options }),
        );
      }),
  };
}
