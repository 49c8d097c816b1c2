import { memo, type ReactNode, useCallback, useMemo, useState } from 'react';
import { Button } from '../design/button.tsx';
import { CopyButton } from './copy-button.tsx';
import { CsvView, readCsv } from './csv-view.tsx';
import { type FrameKind, FrameView } from './frame-view.tsx';
import { GrowingListView } from './growing-list.tsx';
import type { CodePiece } from './highlight.ts';
import type { CodeNode } from './markdown-node.ts';
import { useHighlight } from './use-highlight.ts';

interface CodeViewProps {
  readonly text: string;
  readonly lang?: string | undefined;
  /** False while the code grows. Only finished code is highlighted. */
  readonly isDone: boolean;
}

/** Renders code with a button that copies it. */
export function CodeView({ text, lang, isDone }: CodeViewProps) {
  return (
    <CodeFigure lang={lang} copied={text}>
      <CodeText>
        {isDone ? <HighlightedCode text={text} lang={lang} /> : <GrowingCode text={text} />}
      </CodeText>
    </CodeFigure>
  );
}

/** The languages that the page can show in a frame. */
const frameKinds: ReadonlyMap<string, FrameKind> = new Map([
  ['html', 'document'],
  ['svg', 'document'],
  ['mermaid', 'diagram'],
]);

/** The languages that the page can show as a table, and their separators. */
const separators: ReadonlyMap<string, ',' | '\t'> = new Map([
  ['csv', ','],
  ['tsv', '\t'],
]);

/** Maximum length of a text that is shown in a frame. */
const maxFramed = 500_000;

/**
 * Renders a code block of Markdown. Finished lines are not rendered again while it grows. A diagram or a
 * table is drawn when it is complete. A document runs its scripts, so the user has to ask for its
 * preview.
 */
export function CodeBlockView({ node: { info, pieces, isDone } }: { readonly node: CodeNode }) {
  const language = info.trim().split(/\s/, 1)[0]?.toLowerCase() ?? '';
  const kind = frameKinds.get(language);
  const [choice, setChoice] = useState<boolean>();
  const copied = useCallback(() => [...pieces].join(''), [pieces]);
  const text = useMemo(() => (isDone ? [...pieces].join('') : ''), [pieces, isDone]);
  const onFailed = useCallback(() => setChoice(false), []);
  const rows = useMemo(() => {
    const separator = separators.get(language);
    return separator === undefined ? undefined : readCsv(text, separator);
  }, [text, language]);
  const canFrame = isDone && kind !== undefined && text.length <= maxFramed;
  const hasPreview = canFrame || rows !== undefined;
  const isPreview = hasPreview && (choice ?? kind !== 'document');
  const button = hasPreview && (
    <Button size="small" look="quiet" onClick={() => setChoice(!isPreview)}>
      {isPreview ? 'Code' : 'Preview'}
    </Button>
  );
  if (isPreview)
    return (
      <CodeFigure lang={info} copied={copied} button={button}>
        {rows !== undefined && <CsvView rows={rows} />}
        {canFrame && <FrameView {...{ kind, text, onFailed }} />}
      </CodeFigure>
    );
  return (
    <CodeFigure lang={info} copied={copied} button={button}>
      <CodeText>
        {isDone ? (
          <HighlightedCode text={text} lang={info} />
        ) : (
          <code>
            <GrowingListView list={pieces} render={renderLines} />
          </code>
        )}
      </CodeText>
    </CodeFigure>
  );
}

function renderLines(lines: readonly string[]) {
  return <span>{lines.join('')}</span>;
}

interface CodeFigureProps {
  readonly lang: string | undefined;
  readonly copied: string | (() => string);
  readonly button?: ReactNode;
  readonly children: ReactNode;
}

/** Code or its preview, with its language and its buttons above it. */
function CodeFigure({ lang, copied, button, children }: CodeFigureProps) {
  return (
    <figure className="code">
      <figcaption className="code-head">
        <span className="code-lang">{lang?.trim() || 'text'}</span>
        {button}
        <CopyButton text={copied} />
      </figcaption>
      {children}
    </figure>
  );
}

function CodeText({ children }: { readonly children: ReactNode }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: users scroll the code with the keyboard
  return <pre tabIndex={0}>{children}</pre>;
}

function HighlightedCode({ text, lang }: Pick<CodeViewProps, 'text' | 'lang'>) {
  const pieces = useHighlight(text, lang);
  return <code>{pieces === undefined ? text : pieces.map(highlightedPiece)}</code>;
}

function highlightedPiece({ scope, text }: CodePiece, index: number) {
  if (scope === undefined) return text;
  return (
    <span key={index} data-scope={scope.split('.', 1)[0]}>
      {text}
    </span>
  );
}

const linesPerSection = 64;

/** Renders code in sections of lines, of which only the last one changes. */
function GrowingCode({ text }: { readonly text: string }) {
  const lines = text.split('\n');
  const count = Math.ceil(lines.length / linesPerSection);
  const sections = Array.from({ length: count }, (_, index) =>
    lines.slice(index * linesPerSection, (index + 1) * linesPerSection).join('\n'),
  );
  return (
    <code>
      {sections.map((section, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a section never changes its position
        <CodeSection key={index} text={index < count - 1 ? `${section}\n` : section} />
      ))}
    </code>
  );
}

const CodeSection = memo(function CodeSection({ text }: { readonly text: string }) {
  return <span>{text}</span>;
});
