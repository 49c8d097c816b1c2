import type { JsonValue, PartId, ReasoningPart } from '@millrace/core';
import { memo, Suspense, useCallback, useId } from 'react';
import { ChevronIcon, HandoffIcon, ThoughtIcon } from '../../design/icons.tsx';
import { Filled, useLabels } from '../../labels/use-labels.ts';
import { CodeView } from '../../markdown/code-view.tsx';
import { BlobSource } from '../../markdown/link-view.tsx';
import { MarkdownView } from '../../markdown/markdown-view.tsx';
import { lazyView } from '../../on-demand/lazy-view.tsx';
import { MediaView } from '../content/media-view.tsx';
import { type ChatSource, usePart, useSourceValue } from '../state/chat-source.ts';
import { useUnfolded } from '../state/use-unfolded.ts';
import { ToolCard } from '../tool/tool-card.tsx';
import './reasoning-view.css';
import { VisibleText } from '../content/visible-text.tsx';
import { parseHandoff } from '../tool/handoff.ts';

const CitationsView = lazyView(
  async () => (await import('../content/citations-view.tsx')).CitationsView,
);

/** The properties of `PartView`. */
export interface PartViewProps {
  readonly source: ChatSource;
  readonly id: PartId;
}

/**
 * Shows one part. It renders with each delta while the part streams, and not after the part's end.
 */
export const PartView = memo(function PartView({ source, id }: PartViewProps) {
  const part = usePart(source, id);
  const isOpen = useSourceValue(
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
        <BlobSource value={source}>
          <MarkdownView text={part.text} isOpen={isOpen} />
          {!isOpen && part.metadata?.['citations'] !== undefined && (
            <Suspense fallback={null}>
              <CitationsView metadata={part.metadata} />
            </Suspense>
          )}
        </BlobSource>
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
    // The tool card of the call shows the result, so this view does not.
    case 'tool_result':
      return null;
  }
});

/** The properties of `ReasoningView`. */
export interface ReasoningViewProps {
  readonly source: ChatSource;
  readonly id: PartId;
  readonly part: ReasoningPart;
  readonly isOpen: boolean;
}

/** The reasoning of the model, folded by default. */
export function ReasoningView({ source, id, part, isOpen }: ReasoningViewProps) {
  const t = useLabels();
  const [isUnfolded, setUnfolded] = useUnfolded(source, id, false);
  const bodyId = useId();
  if (part.form === 'redacted' || (part.text === '' && !isOpen))
    return (
      <p className="reasoning-hidden">
        <ThoughtIcon /> {t.hiddenReasoning}
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
        <span>{isOpen ? t.thinking : t.thought}</span>
        {/* The words before this element change at the end, so it starts at another place then. */}
        <span key={String(isOpen)} className="reasoning-glance">
          {!isUnfolded && preview(part.text, isOpen)}
        </span>
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

/** Returns a one-line preview: the end of the text while it streams, and the start afterwards. */
function preview(text: string, isOpen: boolean): string {
  const near = isOpen ? text.slice(-160) : text.slice(0, 160);
  return near.replaceAll(/[*_#`\s]+/g, ' ').trim();
}

export interface StructuredViewProps {
  readonly value: JsonValue;
  readonly isOpen: boolean;
}

/** Shows structured data: a hand-off as a sentence, everything else as JSON. */
export function StructuredView({ value, isOpen }: StructuredViewProps) {
  const t = useLabels();
  const [from, to] = parseHandoff(value) ?? [];
  if (from === undefined || to === undefined)
    return <CodeView text={JSON.stringify(value, null, 2)} lang="json" isDone={!isOpen} />;
  return (
    <p className="notice">
      <HandoffIcon />
      <span>
        <Filled
          text={t.fromHandedTo}
          parts={[<VisibleText key="from" text={from} />, <VisibleText key="to" text={to} />]}
        />
      </span>
    </p>
  );
}
