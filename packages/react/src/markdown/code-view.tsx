import {
  createContext,
  memo,
  type ReactNode,
  useCallback,
  useContext,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useMillrace } from '../context.ts';
import { Button } from '../design/button.tsx';
import { useLabels } from '../labels/use-labels.ts';
import { CopyButton } from './copy-button.tsx';
import { richExtra } from './extras.ts';
import type { CodePiece } from './highlight.ts';
import { GrowingListView } from './tree/growing-list.tsx';
import type { CodeNode } from './tree/markdown-node.ts';
import { useHighlight } from './use-highlight.ts';

/**
 * Opens the document with this source beside the chat. Returns undefined if the text is not such a
 * document. Default: there is no place beside the text.
 */
export const ArtifactOpener = createContext<
  ((text: string) => (() => void) | undefined) | undefined
>(undefined);

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

/**
 * Renders a code block of Markdown. While the block grows, finished lines are not rendered again.
 * Some languages have a preview, which appears when the code is complete.
 */
export function CodeBlockView({ node: { info, pieces, isDone } }: { readonly node: CodeNode }) {
  const t = useLabels();
  const language = info.trim().split(/\s/, 1)[0]?.toLowerCase() ?? '';
  const hasFrames = useMillrace().framesUrl !== undefined;
  const [choice, setChoice] = useState<boolean>();
  const copied = useCallback(() => [...pieces].join(''), [pieces]);
  const text = useMemo(() => (isDone ? [...pieces].join('') : ''), [pieces, isDone]);
  const preview = useMemo(
    () => (isDone ? richExtra.loaded?.previewOf(language, text, hasFrames) : undefined),
    [text, language, isDone, hasFrames],
  );
  const onFailed = useCallback(() => setChoice(false), []);
  const isPreview = preview !== undefined && (choice ?? preview.isFirst);
  const openBeside = useContext(ArtifactOpener)?.(text);
  const button = (
    <>
      {preview !== undefined && (
        <Button size="small" look="quiet" onClick={() => setChoice(!isPreview)}>
          {isPreview ? t.code : t.preview}
        </Button>
      )}
      {isDone && openBeside !== undefined && (
        <Button size="small" look="quiet" onClick={openBeside}>
          {t.open}
        </Button>
      )}
    </>
  );
  return (
    <CodeFigure lang={info} copied={copied} button={button}>
      {isPreview ? (
        preview.render(onFailed)
      ) : (
        <CodeText>
          {isDone ? (
            <HighlightedCode text={text} lang={info} />
          ) : (
            <code>
              <GrowingListView list={pieces} render={renderLines} />
            </code>
          )}
        </CodeText>
      )}
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

/** Shows code or its preview. The language and the buttons are above it. */
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
  const place = useRef<HTMLElement>(null);
  const pieces = useHighlight(text, lang, place);
  // With different keys, React creates a new element for the highlighted code. If React used the old element
  // again, text could move inside it, and browsers would count this as a layout shift.
  if (pieces === undefined)
    return (
      <code key="plain" ref={place}>
        {text}
      </code>
    );
  return <code key="highlighted">{pieces.map(highlightedPiece)}</code>;
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

/**
 * Renders code in sections of several lines. Only the last section changes while the code grows.
 */
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
