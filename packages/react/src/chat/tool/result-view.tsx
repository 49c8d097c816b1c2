import { type JsonValue, parseJson, type ToolResultPart } from '@millrace/core';
import { useMemo, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { countText, useLabels } from '../../labels/use-labels.ts';
import { findDiff } from '../content/diff.ts';
import { DiffView } from '../content/diff-view.tsx';
import { JsonTree } from '../content/json-tree.tsx';
import { MoreBar } from '../content/long-text.tsx';
import { MediaView } from '../content/media-view.tsx';
import { OutputText } from '../content/output-text.tsx';
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

/** Shows the result of a tool: a diff as a diff, JSON as a tree, and everything else as text. */
export function ResultView({ source, part, isOpen, isStopped = false }: ResultViewProps) {
  const t = useLabels();
  const diffInText = isOpen || part.isError ? undefined : findDiff(part.text);
  const plainText = diffInText === undefined ? part.text : diffInText.textBefore;
  const json = useMemo(() => (isOpen ? undefined : jsonOf(part.text)), [part.text, isOpen]);
  const [isRaw, setRaw] = useState(false);
  return (
    <div className="result" data-error={(part.isError && !isStopped) || undefined}>
      {json !== undefined && !isRaw ? (
        <JsonTree value={json} />
      ) : (
        plainText !== '' && <ResultText text={plainText} isOpen={isOpen} />
      )}
      {json !== undefined && (
        <div className="more-bar">
          <Button size="small" look="quiet" onClick={() => setRaw(!isRaw)}>
            {isRaw ? t.showAsATree : t.showTheText}
          </Button>
        </div>
      )}
      {diffInText !== undefined && <DiffView diff={diffInText.diff} />}
      {shownFiles(part).map((attachment, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: attachments have no other identity
        <MediaView key={at} source={source} part={attachment} />
      ))}
    </div>
  );
}

/** Returns the attachments that the card shows. The app of a tool has files of its own. */
export function shownFiles({ attachments = [] }: ToolResultPart) {
  return attachments.filter(({ metadata }) => metadata?.['audience'] !== 'user');
}

/** Maximum length of JSON that is shown as a tree. */
const maxJson = 1_000_000;

/** Parses a text that is a non-empty JSON object or array. Returns undefined for other texts. */
function jsonOf(text: string): JsonValue | undefined {
  if (text.length > maxJson || !/^\s*[[{]/.test(text)) return undefined;
  const parsed = parseJson(text);
  if (!parsed.ok || Object.keys(parsed.value ?? {}).length === 0) return undefined;
  return parsed.value;
}

/** Returns the maximum length for a level. Longer text would freeze the page. */
const lengthAt = (level: number) => (level === 0 ? 8000 : 100_000 * 10 ** (level - 1));

/** Shows the end of the output while the tool runs, and the start of a finished result. */
function ResultText({ text, isOpen }: { readonly text: string; readonly isOpen: boolean }) {
  const t = useLabels();
  const [level, setLevel] = useState(0);
  const length = lengthAt(level);
  const isLong = text.length > length;
  const shownText = !isLong ? text : isOpen ? `…${text.slice(-length)}` : text.slice(0, length);
  const size = countText(t, text.length);
  const next = text.length <= lengthAt(level + 1) ? t.showAllOf(size) : t.showMoreOf(size);
  return (
    <>
      <OutputText text={shownText} isOpen={isOpen} />
      {!isOpen && <MoreBar {...{ level, onLevel: setLevel, next: isLong ? next : undefined }} />}
    </>
  );
}
