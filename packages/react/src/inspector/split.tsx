import { type KeyboardEvent, type PointerEvent, useState } from 'react';
import { readStored, sharedStorage, writeStored } from '../storage.ts';

interface SplitOptions {
  /** The key under which the browser stores the size. */
  readonly name: string;
  /** The initial size of the first part, in percent. */
  readonly initial: number;
}

/** The size of the first of two parts, in percent, and a function that changes it. */
export interface Split {
  readonly percent: number;
  readonly setPercent: (percent: number) => void;
}

const min = 15;
const max = 85;

/** Returns the size of a part, which the user can change. The browser stores the size. */
export function useSplit({ name, initial }: SplitOptions): Split {
  const [percent, setPercent] = useState(() => {
    const stored = Number(readStored(sharedStorage, `split-${name}`));
    return stored >= min && stored <= max ? stored : initial;
  });
  return {
    percent,
    setPercent(next) {
      const limited = Math.round(Math.min(max, Math.max(min, next)) * 10) / 10;
      setPercent(limited);
      writeStored(sharedStorage, `split-${name}`, String(limited));
    },
  };
}

interface SplitterProps {
  readonly split: Split;
  readonly label: string;
}

const stepsBy: Readonly<Record<string, number>> = { ArrowLeft: -2, ArrowRight: 2 };

/**
 * A handle between two parts of its parent element. The user drags it, or moves it with the arrow
 * keys.
 */
export function Splitter({ split: { percent, setPercent }, label }: SplitterProps) {
  const drag = ({ buttons, clientX, currentTarget, pointerId }: PointerEvent<HTMLElement>) => {
    if (buttons !== 1) return;
    currentTarget.setPointerCapture(pointerId);
    const box = currentTarget.parentElement?.getBoundingClientRect();
    if (box !== undefined) setPercent(((clientX - box.left) / box.width) * 100);
  };
  const press = (event: KeyboardEvent) => {
    const by = stepsBy[event.key];
    const to = event.key === 'Home' ? min : event.key === 'End' ? max : undefined;
    if (by === undefined && to === undefined) return;
    event.preventDefault();
    // Without this, the inspector would also use the key to change the selected moment.
    event.stopPropagation();
    setPercent(to ?? percent + (by ?? 0));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot have the focus and a value
    <div
      className="splitter"
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation="vertical"
      aria-valuemin={min}
      aria-valuemax={max}
      aria-valuenow={Math.round(percent)}
      onPointerDown={drag}
      onPointerMove={drag}
      onKeyDown={press}
    />
  );
}
