/** Keeps the first and the last of a text that comes bit by bit, whatever its length. */
export interface ClippedText {
  add(text: string): void;
  /** In UTF-16 units. */
  length(): number;
  isClipped(): boolean;
  /** All of it, or its two ends with a note between them. */
  show(note: (leftOut: number) => string): string;
}

export function clippedText(maxLength: number): ClippedText {
  const half = Math.floor(maxLength / 2);
  let head = '';
  let tail = '';
  let length = 0;
  return {
    add(text) {
      length += text.length;
      const room = half - head.length;
      head += text.slice(0, room);
      tail += text.slice(room);
      // Cut rarely: each cut copies all that is kept.
      if (tail.length > 4 * half) tail = tail.slice(-half);
    },
    length: () => length,
    isClipped: () => length > maxLength,
    show(note) {
      if (length <= maxLength) return head + tail;
      const end = tail.slice(-half);
      return `${whole(head)}${note(length - head.length - end.length)}${whole(end)}`;
    },
  };
}

/** Without the half of a character that a cut may leave at either end. */
function whole(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]/, '').replace(/[\uD800-\uDBFF]$/, '');
}
