import { Window } from 'happy-dom';
import type { ReactNode } from 'react';
import { onTestFinished } from 'vitest';

interface Page {
  readonly html: () => string;
  readonly text: () => string;
  /** Runs the work and waits until its effects are rendered. */
  act(work: () => void | Promise<void>): Promise<void>;
  render(node: ReactNode): Promise<void>;
}

/**
 * Opens a page for one test. It creates a window first, because React checks for a window when it is
 * imported.
 */
export async function openPage(): Promise<Page> {
  const window = new Window();
  const page = globalThis as Record<string, unknown>;
  const given = { window, document: window.document, IS_REACT_ACT_ENVIRONMENT: true };
  Object.assign(page, given);
  const { act } = await import('react');
  const { createRoot } = await import('react-dom/client');
  const container = window.document.createElement('main');
  const root = createRoot(container as unknown as Parameters<typeof createRoot>[0]);
  onTestFinished(async () => {
    await act(async () => root.unmount());
    for (const name of Object.keys(given)) delete page[name];
    await window.happyDOM.close();
  });
  return {
    html: () => container.innerHTML,
    text: () => container.textContent ?? '',
    act: (work) => act(async () => work()),
    render: (node) => act(async () => root.render(node)),
  };
}
