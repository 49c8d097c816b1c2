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
