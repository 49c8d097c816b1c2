import type { KeyboardEvent } from 'react';
import type { Zoom } from './timeline/zoom.ts';

interface KeyHandlers {
  readonly zoom: Pick<Zoom, 'zoomIn' | 'zoomOut' | 'showAll'>;
  readonly toggle: () => void;
  readonly toNow: () => void;
  readonly toStart: () => void;
  readonly step: (by: 1 | -1, far: boolean) => void;
}

/** Elements that handle these keys themselves. */
const fieldSelector = 'input, select, textarea, [contenteditable]';

/**
 * Returns the action of a key in the inspector. Returns undefined if the focused element handles
 * the key.
 */
export function keyAction(
  event: Pick<KeyboardEvent, 'key' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey' | 'target'>,
  { zoom, toggle, toNow, toStart, step }: KeyHandlers,
): (() => void) | undefined {
  const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
  const target = event.target as Element;
  if (ctrlKey || metaKey || altKey || target.closest(fieldSelector) !== null) return undefined;
  switch (key) {
    case 'ArrowRight':
    case 'ArrowUp':
      return () => step(1, shiftKey);
    case 'ArrowLeft':
    case 'ArrowDown':
      return () => step(-1, shiftKey);
    case 'Home':
      return toStart;
    case 'End':
      return toNow;
    case ' ':
      // On a focused button, Space presses that button. So it must not start or stop the playback.
      return target.closest('button, summary, a') === null ? toggle : undefined;
    case '+':
    case '=':
      return zoom.zoomIn;
    case '-':
      return zoom.zoomOut;
    case '0':
      return zoom.showAll;
    default:
      return undefined;
  }
}
