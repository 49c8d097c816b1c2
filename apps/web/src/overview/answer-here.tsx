import { useApp } from '../app/app-context.ts';
import { ApprovalDock } from '../chat/approval/approval-dock.tsx';
import { type ChatSource, useSourceValue } from '../chat/state/chat-source.ts';

const selectIsAsking = ({ state }: ChatSource) => state.asked.length > 0;

/**
 * Shows the question of a session in the overview. It is the card of the chat, so that the user must
 * see the same content before an answer, and an answer is bound to what was shown.
 */
export function AnswerHere({ id }: { readonly id: string }) {
  const live = useApp().sources.get(id);
  const isAsking = useSourceValue(live, selectIsAsking);
  return (
    <div className="overview-answer">
      {isAsking ? (
        <ApprovalDock source={live} handle={live.handle} />
      ) : (
        <p role="status">Loading the question …</p>
      )}
    </div>
  );
}
