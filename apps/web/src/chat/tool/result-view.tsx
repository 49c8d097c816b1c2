import type { ToolResultPart } from '@millrace/core';
import { useState } from 'react';
import { Button } from '../../design/button.tsx';
import { MediaView } from '../media/media-view.tsx';
import type { ChatSource } from '../state/chat-source.ts';
import { findDiff } from './diff.ts';
import { DiffView } from './diff-view.tsx';
import './result-view.css';

export interface ResultViewProps {
  readonly source: ChatSource;
  readonly part: ToolResultPart;
  /** It is progress, and grows. */
  readonly isOpen: boolean;
  /** Somebody wanted it to end: that it did is no fault. */
  readonly isStopped?: boolean;
}

/** What a tool said: as a diff where it is one. */
export function ResultView({ source, part, isOpen, isStopped = false }: ResultViewProps) {
  const found = isOpen || part.isError ? undefined : findDiff(part.text);
  const words = found === undefined ? part.text : found.words;
  return (
    <div className="result" data-error={(part.isError && !isStopped) || undefined}>
      {words !== '' && <ResultText text={words} isOpen={isOpen} />}
      {found !== undefined && <DiffView diff={found.diff} />}
      {part.attachments?.map((attachment, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an attachment is known by its place
        <MediaView key={at} source={source} part={attachment} />
      ))}
    </div>
  );
}

const maxShown = 8000;

/** Of progress the end is what one wants to see, of a result its start. */
function ResultText({ text, isOpen }: { readonly text: string; readonly isOpen: boolean }) {
  const [isAll, setAll] = useState(false);
  const isMore = text.length > maxShown;
  const isLong = isMore && !isAll;
  const shown = !isLong ? text : isOpen ? `…${text.slice(-maxShown)}` : text.slice(0, maxShown);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys */}
      <pre className="result-text" tabIndex={0}>
        {shown}
      </pre>
      {isMore && !isOpen && (
        <Button size="small" look="quiet" onClick={() => setAll(!isAll)}>
          {isAll ? 'Show less' : `Show all ${text.length.toLocaleString('en')} characters`}
        </Button>
      )}
    </>
  );
}
