import { inTone, type Look } from '../render/look.ts';
import type { Ask } from './ask.ts';
import { subjectLines } from './ask-body.ts';
import { titleLines } from './ask-title.ts';

/** All of what an approval is about, for the scrollback. */
export function askedInFull(
  look: Look,
  ask: Extract<Ask, { readonly type: 'approval' }>,
): readonly string[] {
  const lines = subjectLines(look, ask);
  const end = lines.length === 0 ? [] : [inTone(look, 'dim', '  that is all of it')];
  return [...titleLines(look, { ...ask, others: 0 }), ...lines, ...end];
}
