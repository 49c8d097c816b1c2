import type { KeyboardEvent } from 'react';
import type { Zoom } from './use-zoom.ts';

export interface KeyTargets {
  readonly zoom: Pick<Zoom, 'closer' | 'farther' | 'whole'>;
  readonly toggle: () => void;
  readonly toNow: () => void;
  readonly move: (index: number) => void;
  readonly step: (by: 1 | -1, far: boolean) => void;
}

/** What has a use for keys of its own. */
const others = 'input, select, textarea, [contenteditable]';

/** What a key does in the inspector; undefined where it is somebody else's. */
export function keyAction(
  event: Pick<KeyboardEvent, 'key' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey' | 'target'>,
  { zoom, toggle, toNow, move, step }: KeyTargets,
): (() => void) | undefined {
  const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
  const target = event.target as Element;
  if (ctrlKey || metaKey || altKey || target.closest(others) !== null) return undefined;
  switch (key) {
    case 'ArrowRight':
    case 'ArrowUp':
      return () => step(1, shiftKey);
    case 'ArrowLeft':
    case 'ArrowDown':
      return () => step(-1, shiftKey);
    case 'Home':
      return () => move(0);
    case 'End':
      return toNow;
    case ' ':
      // A button that has the focus is pressed by it.
      return target.closest('button, summary, a') === null ? toggle : undefined;
    case '+':
    case '=':
      return zoom.closer;
    case '-':
      return zoom.farther;
    case '0':
      return zoom.whole;
    default:
      return undefined;
  }
}
