import { type RefObject, useEffect, useRef, useState } from 'react';

export interface Zoom {
  readonly window: TimeWindow;
  readonly setWindow: (window: TimeWindow) => void;
  readonly zoomIn: () => void;
  readonly zoomOut: () => void;
  readonly showAll: () => void;
  readonly isFullRange: boolean;
  /**
   * A reference to the element that receives wheel events. Scrolling with Ctrl zooms, and
   * horizontal scrolling moves the range. If the element has a child with the attribute
   * `data-plot`, the range is as wide as that child.
   */
  readonly ref: RefObject<HTMLDivElement | null>;
}

const factor = 0.6;

/**
 * Returns the visible range of the axis, and functions to change it. The range covers the whole
 * growing session until the user zooms.
 */
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
    const box = (ref.current?.querySelector('[data-plot]') ?? ref.current)?.getBoundingClientRect();
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
    // React adds passive wheel listeners, which cannot prevent scrolling. So this listener is added
    // directly.
    current?.addEventListener('wheel', listen, { passive: false });
    return () => current?.removeEventListener('wheel', listen);
  }, []);
  return {
    ...{ window, ref, isFullRange: chosen === undefined },
    setWindow: (next) => setChosen(fitWindow(next, lengthMs)),
    zoomIn: () => zoomBy(factor),
    zoomOut: () => zoomBy(1 / factor),
    showAll: () => setChosen(undefined),
  };
}

/** A range of the axis, in ms from its start. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/** Minimum width of the range, in ms. */
const minMs = 20;

/** Limits a range to the axis and to the minimum width. */
export function fitWindow({ from, to }: TimeWindow, lengthMs: number): TimeWindow {
  const whole = Math.max(minMs, lengthMs);
  const width = Math.min(whole, Math.max(minMs, to - from));
  const start = Math.min(Math.max(0, from), whole - width);
  return { from: start, to: start + width };
}

/** Zooms a range. A factor below 1 zooms in. The position `around` stays in place. */
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

/**
 * Converts a position to percent of the range. The result is below 0 or above 100 if the position
 * is outside the range.
 */
export function percentIn({ from, to }: TimeWindow, position: number): number {
  return ((position - from) / (to - from || 1)) * 100;
}

const steps = [1, 2, 5];

/** Returns round positions for a ruler. Their number is close to `wanted`. */
export function ticksIn({ from, to }: TimeWindow, wanted: number): readonly number[] {
  const rough = (to - from) / wanted;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const stepMs = (steps.find((step) => step * power >= rough) ?? 10) * power;
  const first = Math.ceil(from / stepMs);
  const count = Math.max(0, Math.floor(to / stepMs) - first + 1);
  return Array.from({ length: Math.min(count, 50) }, (_, index) => (first + index) * stepMs);
}
