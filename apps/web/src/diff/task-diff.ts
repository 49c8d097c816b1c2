/** The comparison of two tasks, as `GET /tasks/{task_id}/diff` returns it. */
export interface TaskDiff {
  readonly a: DiffedTask;
  readonly b: DiffedTask;
  /** The first difference. Undefined if both tasks are the same. */
  readonly divergence?: TaskDifference;
  readonly differences: readonly TaskDifference[];
  readonly differenceCount: number;
  readonly turns: readonly ComparedTurn[];
  readonly redactedTurns: readonly number[];
}

/** The first difference of two tasks, as `GET /tasks/{task_id}/divergence` returns it. */
export interface Divergence {
  /** The ids of the two tasks. */
  readonly a: string;
  readonly b: string;
  readonly divergence?: TaskDifference;
}

export interface Totals {
  readonly durationMs: number;
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly costs?: readonly { readonly amount: string; readonly currency: string }[];
  };
}

interface DiffedTask extends Totals {
  readonly session: string;
  /** The offset of the last record. */
  readonly through: number;
  readonly turns: number;
}

export interface ComparedTurn {
  readonly turn: number;
  readonly isSame: boolean;
  readonly a?: Totals & { readonly offset: number; readonly model?: string };
  readonly b?: Totals & { readonly offset: number; readonly model?: string };
}

type DiffCause = 'request' | 'answer' | 'tool_result' | 'command' | 'setting';

export interface TaskDifference {
  readonly cause: DiffCause;
  readonly turn: number;
  readonly field: string;
  readonly call?: { readonly index: number; readonly name: string };
  readonly a?: DifferenceSide;
  readonly b?: DifferenceSide;
  readonly changes?: readonly {
    readonly path: string;
    readonly a?: unknown;
    readonly b?: unknown;
  }[];
  readonly message: string;
}

export interface DifferenceSide {
  readonly offset: number;
  readonly type: string;
  readonly text?: { readonly text: string; readonly start: number; readonly length: number };
  readonly value?: unknown;
}

/** A text in three pieces: the equal start, the part that differs, and the equal end. */
export interface SplitText {
  readonly before: string;
  readonly changed: string;
  readonly after: string;
}

/** Splits two texts at the part that differs. The part consists of whole words. */
export function splitTexts(a: string, b: string): { readonly a: SplitText; readonly b: SplitText } {
  const [one, other] = [wordsOf(a), wordsOf(b)];
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const split = (words: readonly string[]) => ({
    before: words.slice(0, start).join(''),
    changed: words.slice(start, words.length - end).join(''),
    after: words.slice(words.length - end).join(''),
  });
  return { a: split(one), b: split(other) };
}

/** Returns the words, the spaces and the other characters of a text. */
function wordsOf(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|./gsu) ?? [];
}

/** Returns the text of one side: the text that differs, or the value as JSON. */
export function sideText(side: DifferenceSide | undefined): string {
  if (side === undefined) return '';
  if (side.text !== undefined) return side.text.text;
  if (side.value === undefined) return '';
  return typeof side.value === 'string' ? side.value : JSON.stringify(side.value, null, 2);
}
