import { type RefObject, useEffect, useRef, useState } from 'react';

export interface Zoom {
  readonly window: TimeWindow;
  readonly setWindow: (window: TimeWindow) => void;
  readonly closer: () => void;
  readonly farther: () => void;
  readonly whole: () => void;
  readonly isWhole: boolean;
  /** Where the wheel is handler: with Ctrl it zooms, sideways it moves. */
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
  const handler = useRef(onWheel);
  handler.current = onWheel;
  useEffect(() => {
    const { current } = ref;
    const listen = (event: WheelEvent) => handler.current(event);
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

/** The stretch of the axis that is looked at, in ms from its start. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/** Nothing is looked at more closely than this. */
const minMs = 20;

/** Within the axis, and no narrower than can be looked at. */
export function fitWindow({ from, to }: TimeWindow, lengthMs: number): TimeWindow {
  const whole = Math.max(minMs, lengthMs);
  const width = Math.min(whole, Math.max(minMs, to - from));
  const start = Math.min(Math.max(0, from), whole - width);
  return { from: start, to: start + width };
}

/** A factor below 1 looks closer; what is at `around` stays where it is. */
export function zoomWindow(
  { from, to }: TimeWindow,
  {
    factor,
    around,
    lengthMs,
  }: { readonly factor: number; readonly around: number; readonly lengthMs: number },
): TimeWindow {
  const width = (to - from) * factor;
  const share = (around - from) / (to - from || 1);
  const start = around - share * width;
  return fitWindow({ from: start, to: start + width }, lengthMs);
}

export function moveWindow({ from, to }: TimeWindow, byMs: number, lengthMs: number): TimeWindow {
  return fitWindow({ from: from + byMs, to: to + byMs }, lengthMs);
}

/** Where a place is in the window, in percent; outside of it below 0 or above 100. */
export function percentIn({ from, to }: TimeWindow, position: number): number {
  return ((position - from) / (to - from || 1)) * 100;
}

const steps = [1, 2, 5];

/** Round places for a ruler: about so many as asked for. */
export function ticksIn({ from, to }: TimeWindow, wanted: number): readonly number[] {
  const rough = (to - from) / wanted;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const stepMs = (steps.find((step) => step * power >= rough) ?? 10) * power;
  const first = Math.ceil(from / stepMs);
  const count = Math.max(0, Math.floor(to / stepMs) - first + 1);
  return Array.from({ length: Math.min(count, 50) }, (_, index) => (first + index) * stepMs);
}
