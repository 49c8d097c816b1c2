/** A line as it is shown. */
export interface ShownLine {
  readonly number: number;
  readonly text: string;
  /** Otherwise it is there for context. */
  readonly isMatch: boolean;
}

const maxShownLength = 500;
/** Of its number, and what is around it. */
const frameLength = 10;

export interface ContextWindow {
  readonly shown: readonly ShownLine[];
  /** `foundAt`: where in the line something matches, if anything does. */
  take(number: number, text: string, foundAt: number | undefined): void;
  /** Lines that follow a match are still to come. */
  wantsMore(): boolean;
  isFull(): boolean;
}

/** Keeps the lines that match and so many on either side of each, up to a length. */
export function contextWindow(contextLines: number, maxLength: number): ContextWindow {
  const shown: ShownLine[] = [];
  const before: ShownLine[] = [];
  let wanted = 0;
  let length = 0;
  const show = (line: ShownLine) => {
    shown.push(line);
    length += lengthOf(line);
  };
  const isFull = () => length >= maxLength;
  return {
    shown,
    isFull,
    wantsMore: () => wanted > 0 && !isFull(),
    take(number, text, foundAt) {
      if (isFull()) return;
      const isMatch = foundAt !== undefined;
      if (!isMatch && contextLines === 0) return;
      const line = { number, text: clip(text, foundAt ?? 0), isMatch };
      if (!isMatch && wanted === 0) {
        before.push(line);
        if (before.length > contextLines) before.shift();
        return;
      }
      for (const one of before.splice(0)) show(one);
      show(line);
      wanted = isMatch ? contextLines : wanted - 1;
    },
  };
}

/** Of a line as it is shown, roughly. */
export function lengthOf({ text }: ShownLine): number {
  return text.length + frameLength;
}

/** The part of a long line that is about the match. */
function clip(text: string, at: number): string {
  if (text.length <= maxShownLength) return text;
  const start = Math.max(0, Math.min(at - maxShownLength / 4, text.length - maxShownLength));
  const end = start + maxShownLength;
  const part = text.slice(start, end).toWellFormed();
  return `${start > 0 ? '…' : ''}${part}${end < text.length ? '…' : ''}`;
}
