import { refusePart, wellFormedPart } from '../codec/check-content.ts';
import type { ItemId, PartId } from '../ids.ts';
import type { Limits } from '../limits.ts';
import type { CommitWhole } from '../protocol/delta.ts';
import type { Part } from '../protocol/part.ts';
import { ProtocolError } from '../protocol/protocol-error.ts';
import { withDerived } from '../protocol/tool-call.ts';

/** The commit of a part in one piece, its text repaired as a stream's would be. */
export function wholePart(
  partId: PartId,
  itemId: ItemId,
  given: Part,
  limits: Limits,
  check: (delta: CommitWhole) => void,
): CommitWhole {
  check({ type: 'commit_part', partId, itemId, part: given });
  const part = withDerived(wellFormedPart(given));
  const refusal = refusePart(part, limits);
  if (refusal === undefined) return { type: 'commit_part', partId, itemId, part };
  throw new ProtocolError(refusal, 'commit a part', { partId, itemId, kind: part.kind });
}
