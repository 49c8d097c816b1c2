import { type FoldState, type ItemState, toArray } from '@millrace/core';
import { messageId } from '../../ui/run-chunks.ts';
import { isStepItem } from '../../ui/steps-of-run.ts';
import { uiRestatement } from '../../ui/ui-chunks.ts';
import { partsOfChunks, type UiMessage } from '../../ui/ui-message.ts';

/** All that was said in a chat. What a person said while an answer went on is part of that. */
export function chatMessages(fold: FoldState): readonly UiMessage[] {
  const begun = new Set<ItemState['run']>();
  return toArray(fold.items).flatMap((item): readonly UiMessage[] => {
    const { run } = item;
    if (run !== undefined && begun.has(run)) return [];
    if (isStepItem(item) && run !== undefined) {
      begun.add(run);
      return [answerOf({ ...fold, run })];
    }
    const parts = item.parts.flatMap(({ part }) =>
      part?.kind === 'text' ? { type: 'text', text: part.text } : [],
    );
    return item.kind === 'user' && parts.length > 0 ? [{ id: item.id, role: 'user', parts }] : [];
  });
}

/** Of whichever run, told as if it went on. */
function answerOf(fold: FoldState): UiMessage {
  return { id: messageId(fold), role: 'assistant', parts: partsOfChunks(uiRestatement(fold)) };
}
