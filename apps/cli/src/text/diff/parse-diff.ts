type DiffRowKind = 'added' | 'removed' | 'context' | 'hunk' | 'file' | 'note';

export interface DiffRow {
  readonly kind: DiffRowKind;
  /** The line without its leading sign. */
  readonly text: string;
  /** The line number in the new text. For removed lines, the number in the old text. */
  readonly number?: number;
}

const hunkHead = /^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
/** The head of a hunk without numbers. All lines up to the next head belong to it. */
export const openHead = '@@ @@';
const fileHead = /^(?:---|\+\+\+|diff |Index: |===)/;

/**
 * Parses a unified diff. It counts the lines of each hunk. So `--- x` inside a hunk is a removed
 * line and not a header.
 */
export function parseDiff(diff: string): readonly DiffRow[] {
  const lines = diff.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const hunk = new Hunk();
  return lines.map((line) => rowOf(line, hunk));
}

function rowOf(line: string, hunk: Hunk): DiffRow {
  if (line === openHead) {
    hunk.startOpen();
    return { kind: 'note', text: line };
  }
  const head = hunkHead.exec(line);
  if (head !== null) {
    hunk.start(head);
    return { kind: 'hunk', text: line };
  }
  if (!hunk.isOpen && fileHead.test(line)) return { kind: 'file', text: line };
  const text = line.slice(1);
  switch (line.charAt(0)) {
    case '+':
      return { kind: 'added', text, ...hunk.count('new') };
    case '-':
      return { kind: 'removed', text, ...hunk.count('old') };
    case ' ':
    case '':
      return { kind: 'context', text, ...hunk.count('both') };
    default:
      return { kind: 'note', text: line };
  }
}

/** The current position in the old and the new text. */
class Hunk {
  #old = 0;
  #new = 0;
  #oldEnd = 0;
  #newEnd = 0;
  #hasEnd = true;

  get isOpen(): boolean {
    return !this.#hasEnd || this.#isCounting;
  }

  get #isCounting(): boolean {
    return this.#old < this.#oldEnd || this.#new < this.#newEnd;
  }

  startOpen(): void {
    this.#hasEnd = false;
    this.#oldEnd = this.#old;
    this.#newEnd = this.#new;
  }

  start([, oldFrom, oldCount = '1', newFrom, newCount = '1']: RegExpExecArray): void {
    this.#hasEnd = true;
    this.#old = Number(oldFrom);
    this.#new = Number(newFrom);
    this.#oldEnd = this.#old + Number(oldCount);
    this.#newEnd = this.#new + Number(newCount);
  }

  count(side: 'old' | 'new' | 'both'): { readonly number?: number } {
    if (!this.#isCounting) return {};
    const number = side === 'old' ? this.#old : this.#new;
    if (side !== 'new') this.#old++;
    if (side !== 'old') this.#new++;
    return { number };
  }
}
