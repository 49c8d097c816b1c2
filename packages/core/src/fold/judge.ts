import type { AppendBytes, AppendText, BeginPart, CommitBuilt, Delta } from '../protocol/delta.ts';
import { type Medium, mediumOf } from '../protocol/part.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import type { OpenPart } from './fold-state.ts';

/** `nothing`: it was said before, or adds nothing. */
export type Verdict = 'apply' | 'nothing' | Refusal;

/**
 * The table of PROTOCOL.md, for a delta whose part is open, or is not (`undefined`). The fold and the
 * validator both ask here, so that what the one refuses the other never meets.
 */
export function judge(part: OpenPart | undefined, delta: Delta): Verdict {
  if (delta.type === 'unknown') return 'nothing';
  if (part === undefined) return judgeUnopened(delta);
  switch (delta.type) {
    case 'append_text':
      return judgeAppend(part, 'text', part.text.length, delta);
    case 'append_bytes':
      return judgeAppend(part, 'bytes', part.bytes?.length ?? 0, delta);
    case 'replace_structured':
      return grows(part, 'value') ? 'apply' : 'wrong_kind';
    case 'begin_part':
      return judgeBegin(part, delta);
    case 'commit_part':
      if (delta.part === undefined) return judgeBuilt(part, delta);
      return delta.itemId === part.begin.itemId ? 'apply' : 'conflict';
    case 'set_metadata':
    case 'retract_part':
      return 'apply';
  }
}

function judgeUnopened(delta: Exclude<Delta, { type: 'unknown' }>): Verdict {
  const needsNoBegin =
    delta.type === 'begin_part' || (delta.type === 'commit_part' && delta.part !== undefined);
  return needsNoBegin ? 'apply' : 'unknown_part';
}

function judgeAppend(
  part: OpenPart,
  medium: Medium,
  length: number,
  { at, chunk }: AppendText | AppendBytes,
): Verdict {
  if (!grows(part, medium)) return 'wrong_kind';
  if (at > length) return 'gap';
  return at + chunk.length > length ? 'apply' : 'nothing';
}

function judgeBegin({ begin }: OpenPart, { kind, itemId }: BeginPart): Verdict {
  return begin.kind === kind && begin.itemId === itemId ? 'nothing' : 'conflict';
}

function judgeBuilt(part: OpenPart, { length, signature }: CommitBuilt): Verdict {
  if (signature !== undefined && part.begin.kind !== 'reasoning') return 'wrong_kind';
  if (grows(part, 'value') && part.value === undefined) return 'no_value';
  return length === lengthOf(part) ? 'apply' : 'conflict';
}

function grows(part: OpenPart, medium: Medium): boolean {
  return mediumOf[part.begin.kind] === medium;
}

/** How much was appended; 0 for parts that grow by replacement. */
export function lengthOf(part: OpenPart): number {
  return part.bytes?.length ?? part.text.length;
}
