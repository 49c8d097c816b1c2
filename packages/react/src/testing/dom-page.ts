import { type HTMLElement, Window } from 'happy-dom';
import { act, type ReactNode } from 'react';
import { onTestFinished } from 'vitest';

/** A page with a DOM, and the actions of a user. */
export interface DomPage {
  readonly window: Window;
  render(node: ReactNode): Promise<void>;
  /** Runs the callback and waits until React has rendered. */
  act(work: () => void | Promise<void>): Promise<void>;
  find(selector: string): HTMLElement;
  findAll(selector: string): readonly HTMLElement[];
  press(target: HTMLElement, key: string, options?: { readonly shiftKey?: boolean }): Promise<void>;
  click(target: HTMLElement): Promise<void>;
  /** Replaces the text of a field. */
  type(target: HTMLElement, text: string): Promise<void>;
  submit(form: HTMLElement): Promise<void>;
  text(): string;
}

/**
 * Opens a DOM page at a URL for one test. Import React components after this call, because React
 * checks for a window when it loads.
 */
export async function openDomPage(url: string): Promise<DomPage> {
  const window = new Window({ url });
  const { document, location } = window;
  // This DOM does not report standards mode. Without this property, KaTeX would refuse to draw.
  Object.defineProperty(document, 'compatMode', { value: 'CSS1Compat' });
  const matchMedia = window.matchMedia.bind(window);
  const globals = { window, document, location, matchMedia, IS_REACT_ACT_ENVIRONMENT: true };
  Object.assign(globalThis, globals);
  const { createRoot } = await import('react-dom/client');
  const container = document.createElement('main');
  document.body.append(container);
  const root = createRoot(container as unknown as Parameters<typeof createRoot>[0]);
  onTestFinished(async () => {
    await act(async () => root.unmount());
    for (const name of Object.keys(globals)) Reflect.deleteProperty(globalThis, name);
    await window.happyDOM.close();
  });
  return {
    window,
    render: (node) => act(async () => root.render(node)),
    act: (work) => act(async () => work()),
    find(selector) {
      const found = container.querySelector(selector);
      if (found === null) throw new Error(`There is no ${selector} on the page`);
      return found as HTMLElement;
    },
    findAll: (selector) => [...container.querySelectorAll(selector)] as HTMLElement[],
    text: () => container.textContent ?? '',
    click: (target) => act(async () => target.click()),
    type: (target, text) =>
      act(async () => {
        // React overrides the setter of this field and would not notice a direct change. So the
        // setter of the prototype is used.
        Reflect.set(Object.getPrototypeOf(target), 'value', text, target);
        target.dispatchEvent(new window.Event('input', { bubbles: true }));
      }),
    submit: (form) =>
      act(async () => {
        form.dispatchEvent(new window.Event('submit', { bubbles: true, cancelable: true }));
      }),
    press: (target, key, options = {}) =>
      act(async () => {
        target.dispatchEvent(
          new window.KeyboardEvent('keydown', { key, bubbles: true, ...options }),
        );
      }),
  };
}
