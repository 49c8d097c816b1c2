import type { ToolResultPart } from '@millrace/core';
import { useState } from 'react';
import { findDiff } from '../content/diff.ts';
import { DiffView } from '../content/diff-view.tsx';
import { MoreBar } from '../content/long-text.tsx';
import { MediaView } from '../content/media-view.tsx';
import { VisibleText } from '../content/visible-text.tsx';
import type { ChatSource } from '../state/chat-source.ts';
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

/** More than that at once would make the page stand still. */
const lengthAt = (level: number) => (level === 0 ? 8000 : 100_000 * 10 ** (level - 1));

/** Of progress the end is what one wants to see, of a result its start. */
function ResultText({ text, isOpen }: { readonly text: string; readonly isOpen: boolean }) {
  const [level, setLevel] = useState(0);
  const length = lengthAt(level);
  const isLong = text.length > length;
  const shown = !isLong ? text : isOpen ? `…${text.slice(-length)}` : text.slice(0, length);
  const size = `${text.length.toLocaleString('en')} characters`;
  const next = text.length <= lengthAt(level + 1) ? `Show all ${size}` : `Show more of ${size}`;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys */}
      <pre className="result-text" tabIndex={0}>
        <VisibleText text={shown} escapes="directions" />
      </pre>
      {!isOpen && <MoreBar {...{ level, onLevel: setLevel, next: isLong ? next : undefined }} />}
    </>
  );
}
