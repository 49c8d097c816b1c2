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
  /** True if the result is progress output that still grows. */
  readonly isOpen: boolean;
  /** True if the user stopped the call. An error result is then expected. */
  readonly isStopped?: boolean;
}

/** Shows the result of a tool, as a diff if it contains one. */
export function ResultView({ source, part, isOpen, isStopped = false }: ResultViewProps) {
  const diffInText = isOpen || part.isError ? undefined : findDiff(part.text);
  const plainText = diffInText === undefined ? part.text : diffInText.textBefore;
  return (
    <div className="result" data-error={(part.isError && !isStopped) || undefined}>
      {plainText !== '' && <ResultText text={plainText} isOpen={isOpen} />}
      {diffInText !== undefined && <DiffView diff={diffInText.diff} />}
      {part.attachments?.map((attachment, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: attachments have no other identity
        <MediaView key={at} source={source} part={attachment} />
      ))}
    </div>
  );
}

/** Returns the length that is shown at a level. More would freeze the page. */
const lengthAt = (level: number) => (level === 0 ? 8000 : 100_000 * 10 ** (level - 1));

/** Shows the end of progress output, and the start of a result. */
function ResultText({ text, isOpen }: { readonly text: string; readonly isOpen: boolean }) {
  const [level, setLevel] = useState(0);
  const length = lengthAt(level);
  const isLong = text.length > length;
  const shownText = !isLong ? text : isOpen ? `…${text.slice(-length)}` : text.slice(0, length);
  const size = `${text.length.toLocaleString('en')} characters`;
  const next = text.length <= lengthAt(level + 1) ? `Show all ${size}` : `Show more of ${size}`;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll */}
      <pre className="result-text" tabIndex={0}>
        <VisibleText text={shownText} escapes="directions" />
      </pre>
      {!isOpen && <MoreBar {...{ level, onLevel: setLevel, next: isLong ? next : undefined }} />}
    </>
  );
}
