import { Approvals, type ChatSource, useSourceValue } from '@millrace/react';
import { useApp } from '../app/app-context.ts';
import { pageLabels } from '../languages/page-labels.ts';

const selectIsAsking = ({ state }: ChatSource) => state.asked.length > 0;

/**
 * Shows the approval request of a session in the overview. It uses the same card as the chat. So
 * the same rule applies: the user must see the whole content before an answer.
 */
export function AnswerHere({ id }: { readonly id: string }) {
  const t = pageLabels();
  const live = useApp().sources.get(id);
  const isAsking = useSourceValue(live, selectIsAsking);
  return (
    <div className="overview-answer">
      {isAsking ? (
        <Approvals source={live} handle={live.handle} />
      ) : (
        <p role="status">{t.loadingTheQuestion}</p>
      )}
    </div>
  );
}
