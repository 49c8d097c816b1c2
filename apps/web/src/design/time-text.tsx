import { useDeferredValue } from 'react';

export interface TimeTextProps {
  /** In ms since 1970. */
  readonly at: number;
  readonly format: (at: number) => string;
}

/** A time, shown right after all else: the first one that a browser formats takes longer than a page does. */
export function TimeText({ at, format }: TimeTextProps) {
  const shown = useDeferredValue<number | undefined>(at, undefined);
  return (
    <time dateTime={new Date(at).toISOString()}>
      {shown === undefined ? '\u00a0' : format(shown)}
    </time>
  );
}
