import type { Slot } from './inline-token.ts';

export type DelimiterChar = '*' | '_' | '~';

/** Some `*`, `_` or `~` in a row, which may begin or end emphasis. */
export interface DelimiterRun {
  readonly char: DelimiterChar;
  readonly slot: Slot;
  /** Later runs have higher ones. */
  readonly order: number;
  /** As written; what of it is left is in the slot. */
  readonly length: number;
  readonly canOpen: boolean;
  readonly canClose: boolean;
  left: number;
  before: DelimiterRun | undefined;
  after: DelimiterRun | undefined;
}

const space = /^\s$/u;
const punctuation = /^[\p{P}\p{S}]$/u;

/** Which ends of emphasis a run can be, by what stands beside it. */
export function flanking(
  source: string,
  from: number,
  to: number,
): Pick<DelimiterRun, 'canOpen' | 'canClose'> {
  const char = source.charAt(from);
  const before = from === 0 ? ' ' : lastCharacter(source, from);
  const after = to >= source.length ? ' ' : String.fromCodePoint(source.codePointAt(to) ?? 32);
  const [spaceBefore, spaceAfter] = [space.test(before), space.test(after)];
  const [pointBefore, pointAfter] = [punctuation.test(before), punctuation.test(after)];
  const left = !spaceAfter && (!pointAfter || spaceBefore || pointBefore);
  const right = !spaceBefore && (!pointBefore || spaceAfter || pointAfter);
  if (char === '_') {
    return { canOpen: left && (!right || pointBefore), canClose: right && (!left || pointAfter) };
  }
  const isTooLong = char === '~' && to - from > 2;
  return { canOpen: left && !isTooLong, canClose: right && !isTooLong };
}

function lastCharacter(source: string, end: number): string {
  const last = source.slice(end - 1, end);
  return /[\udc00-\udfff]/.test(last) ? source.slice(Math.max(0, end - 2), end) : last;
}
