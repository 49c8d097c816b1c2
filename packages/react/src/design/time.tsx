import type { Clock } from '@millrace/client';
import { useDeferredValue, useEffect, useState } from 'react';
import { useLabels } from '../labels/use-labels.ts';

/** Formats a duration: `850 ms`, `3.2 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

// The cached formatters. They are created on first use, because creating the first one is slower
// than any other step of opening the page.
const formats = new Map<string, Intl.DateTimeFormat>();

function format(at: number, locale: string, options: Intl.DateTimeFormatOptions): string {
  const key = `${locale} ${Object.keys(options).join()}`;
  const formatter = formats.get(key) ?? new Intl.DateTimeFormat(locale, options);
  formats.set(key, formatter);
  return formatter.format(at);
}

/** Returns the time of day in a language. */
export function clockTime(at: number, locale: string): string {
  return format(at, locale, { timeStyle: 'short' });
}

/** Returns the time of day if `at` is today, otherwise the date. */
export function dayOrTime(at: number, locale: string, now: number = Date.now()): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return isToday ? clockTime(at, locale) : format(at, locale, { month: 'short', day: 'numeric' });
}

/** Returns the month with its year, for example `October 2026`. */
export function monthOf(at: number, locale: string): string {
  return format(at, locale, { month: 'long', year: 'numeric' });
}

interface TimeTextProps {
  /** The time in ms since 1970. */
  readonly at: number;
  /** Formats the time in the language of the labels. */
  readonly format: (at: number, locale: string) => string;
}

/**
 * A formatted time. It renders after the rest of the page, because creating the first formatter is
 * slow.
 */
export function TimeText({ at, format }: TimeTextProps) {
  const t = useLabels();
  const shown = useDeferredValue<number | undefined>(at, undefined);
  return (
    <time dateTime={new Date(at).toISOString()}>
      {shown === undefined ? '\u00a0' : format(shown, t.locale)}
    </time>
  );
}

/** A monotonic clock. Changes of the system clock do not affect it. */
export const pageClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Returns the current time. The component renders again after each interval. */
export function useNow(intervalMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs]);
  return now;
}
