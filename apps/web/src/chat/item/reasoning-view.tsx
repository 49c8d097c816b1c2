import type { PartId, ReasoningPart } from '@millrace/core';
import { useId } from 'react';
import { ChevronIcon, ThoughtIcon } from '../../design/icons.tsx';
import { MarkdownView } from '../../markdown/markdown-view.tsx';
import type { ChatSource } from '../state/chat-source.ts';
import { useUnfolded } from '../state/unfolded.ts';
import './reasoning-view.css';

export interface ReasoningViewProps {
  readonly source: ChatSource;
  readonly id: PartId;
  readonly part: ReasoningPart;
  readonly isOpen: boolean;
}

/** What the model thought, folded. */
export function ReasoningView({ source, id, part, isOpen }: ReasoningViewProps) {
  const [isUnfolded, setUnfolded] = useUnfolded(source, id, false);
  const bodyId = useId();
  if (part.form === 'redacted' || (part.text === '' && !isOpen))
    return (
      <p className="reasoning-hidden">
        <ThoughtIcon /> Thought, and does not show it
      </p>
    );
  return (
    <div className="reasoning">
      <button
        type="button"
        className="reasoning-head"
        aria-expanded={isUnfolded}
        aria-controls={bodyId}
        onClick={() => setUnfolded(!isUnfolded)}
      >
        <ThoughtIcon />
        <span>{isOpen ? 'Thinking' : 'Thought'}</span>
        {!isUnfolded && <span className="reasoning-glance">{glance(part.text, isOpen)}</span>}
        <span className="fold-mark" data-open={isUnfolded || undefined}>
          <ChevronIcon />
        </span>
      </button>
      {isUnfolded && (
        <div className="reasoning-body" id={bodyId}>
          <MarkdownView text={part.text} isOpen={isOpen} />
        </div>
      )}
    </div>
  );
}

/** One line of it: the latest while it streams, the first after. */
function glance(text: string, isOpen: boolean): string {
  const near = isOpen ? text.slice(-160) : text.slice(0, 160);
  return near.replaceAll(/[*_#`\s]+/g, ' ').trim();
}
