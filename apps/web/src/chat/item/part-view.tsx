import type { PartId } from '@millrace/core';
import { memo, useCallback } from 'react';
import { CodeView } from '../../markdown/code-view.tsx';
import { MarkdownView } from '../../markdown/markdown-view.tsx';
import { MediaView } from '../media/media-view.tsx';
import type { ChatSource } from '../state/chat-source.ts';
import { usePart, useRead } from '../state/use-source.ts';
import { ToolCard } from '../tool/tool-card.tsx';
import { ReasoningView } from './reasoning-view.tsx';
import { StructuredView } from './structured-view.tsx';

export interface PartViewProps {
  readonly source: ChatSource;
  readonly id: PartId;
}

/** One part. It renders with each piece of it while it streams, and not again after its end. */
export const PartView = memo(function PartView({ source, id }: PartViewProps) {
  const part = usePart(source, id);
  const isOpen = useRead(
    source,
    useCallback(({ state }: ChatSource) => state.open.some((open) => open.id === id), [id]),
  );
  switch (part?.kind) {
    case undefined:
      return null;
    case 'text':
      return part.mimeType === 'application/json' ? (
        <CodeView text={part.text} lang="json" isDone={!isOpen} />
      ) : (
        <MarkdownView text={part.text} isOpen={isOpen} />
      );
    case 'reasoning':
      return <ReasoningView source={source} id={id} part={part} isOpen={isOpen} />;
    case 'tool_call':
      return <ToolCard source={source} partId={id} part={part} isOpen={isOpen} />;
    case 'structured':
    case 'custom':
      return <StructuredView value={part.value} isOpen={isOpen} />;
    case 'media':
    case 'file':
      return isOpen ? null : <MediaView source={source} part={part} />;
    // It is shown with its call.
    case 'tool_result':
      return null;
  }
});
