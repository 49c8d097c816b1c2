import { type RefObject, useEffect, useRef, useState } from 'react';
import { fitWindow, moveWindow, type TimeWindow, zoomWindow } from './time-window.ts';

export interface Zoom {
  readonly window: TimeWindow;
  readonly setWindow: (window: TimeWindow) => void;
  readonly closer: () => void;
  readonly farther: () => void;
  readonly whole: () => void;
  readonly isWhole: boolean;
  /** Where the wheel is heard: with Ctrl it zooms, sideways it moves. */
  readonly ref: RefObject<HTMLDivElement | null>;
}

const factor = 0.6;

/** Which stretch of the axis one looks at: all of it as it grows, until one chooses. */
export function useZoom(lengthMs: number, around: number): Zoom {
  const [chosen, setChosen] = useState<TimeWindow>();
  const ref = useRef<HTMLDivElement>(null);
  const window = fitWindow(chosen ?? { from: 0, to: lengthMs }, lengthMs);
  const isIn = around >= window.from && around <= window.to;
  const centre = isIn ? around : (window.from + window.to) / 2;
  const zoomBy = (by: number, at = centre) =>
    setChosen(zoomWindow(window, { factor: by, around: at, lengthMs }));
  const onWheel = (event: WheelEvent) => {
    const { deltaX, deltaY, clientX, ctrlKey, metaKey, shiftKey } = event;
    const box = ref.current?.getBoundingClientRect();
    if (box === undefined) return;
    const width = window.to - window.from;
    if (ctrlKey || metaKey) {
      event.preventDefault();
      const at = window.from + ((clientX - box.left) / box.width) * width;
      return zoomBy(Math.exp(Math.max(-100, Math.min(100, deltaY)) / 250), at);
    }
    const sideways = shiftKey ? deltaY : deltaX;
    if (Math.abs(sideways) <= Math.abs(shiftKey ? deltaX : deltaY)) return;
    event.preventDefault();
    setChosen(moveWindow(window, (sideways / box.width) * width, lengthMs));
  };
  const heard = useRef(onWheel);
  heard.current = onWheel;
  useEffect(() => {
    const { current } = ref;
    const listen = (event: WheelEvent) => heard.current(event);
    // React's own listener is passive, and cannot keep the page from scrolling.
    current?.addEventListener('wheel', listen, { passive: false });
    return () => current?.removeEventListener('wheel', listen);
  }, []);
  return {
    ...{ window, ref, isWhole: chosen === undefined },
    setWindow: (next) => setChosen(fitWindow(next, lengthMs)),
    closer: () => zoomBy(factor),
    farther: () => zoomBy(1 / factor),
    whole: () => setChosen(undefined),
  };
}
