import { memo, type ReactNode, useCallback, useMemo } from 'react';
import { CopyButton } from './copy-button.tsx';
import { GrowingListView } from './growing-list.tsx';
import type { CodePiece } from './highlight.ts';
import type { CodeNode } from './markdown-tree.ts';
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
    <CodeFrame lang={lang} copied={text}>
      {isDone ? <HighlightedCode text={text} lang={lang} /> : <GrowingCode text={text} />}
    </CodeFrame>
  );
}

/** Renders a code block of Markdown. Finished lines are not rendered again while it grows. */
export function CodeBlockView({ node: { info, pieces, isDone } }: { readonly node: CodeNode }) {
  const copied = useCallback(() => [...pieces].join(''), [pieces]);
  const text = useMemo(() => (isDone ? [...pieces].join('') : ''), [pieces, isDone]);
  return (
    <CodeFrame lang={info} copied={copied}>
      {isDone ? (
        <HighlightedCode text={text} lang={info} />
      ) : (
        <code>
          <GrowingListView list={pieces} render={renderLines} />
        </code>
      )}
    </CodeFrame>
  );
}

function renderLines(lines: readonly string[]) {
  return <span>{lines.join('')}</span>;
}

interface CodeFrameProps {
  readonly lang: string | undefined;
  readonly copied: string | (() => string);
  readonly children: ReactNode;
}

function CodeFrame({ lang, copied, children }: CodeFrameProps) {
  return (
    <figure className="code">
      <figcaption className="code-head">
        <span>{lang?.trim() || 'text'}</span>
        <CopyButton text={copied} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: users scroll the code with the keyboard */}
      <pre tabIndex={0}>{children}</pre>
    </figure>
  );
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
