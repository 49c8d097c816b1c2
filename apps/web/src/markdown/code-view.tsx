import { memo } from 'react';
import { CopyButton } from './copy-button.tsx';
import type { CodePiece } from './highlight.ts';
import { useHighlight } from './use-highlight.ts';

interface CodeViewProps {
  readonly text: string;
  readonly lang?: string | undefined;
  /** It is coloured when nothing is added any more. */
  readonly isDone: boolean;
}

/** Code, with a button to copy it. */
export function CodeView({ text, lang, isDone }: CodeViewProps) {
  return (
    <figure className="code">
      <figcaption className="code-head">
        <span>{lang?.trim() || 'text'}</span>
        <CopyButton text={text} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys */}
      <pre tabIndex={0}>
        {isDone ? <ColouredCode text={text} lang={lang} /> : <GrowingCode text={text} />}
      </pre>
    </figure>
  );
}

function ColouredCode({ text, lang }: Pick<CodeViewProps, 'text' | 'lang'>) {
  const pieces = useHighlight(text, lang);
  return <code>{pieces === undefined ? text : pieces.map(colouredPiece)}</code>;
}

function colouredPiece({ scope, text }: CodePiece, at: number) {
  if (scope === undefined) return text;
  return (
    <span key={at} data-scope={scope.split('.', 1)[0]}>
      {text}
    </span>
  );
}

const linesAtOnce = 64;

/** In stretches of lines, of which only the last one grows. */
function GrowingCode({ text }: { readonly text: string }) {
  const lines = text.split('\n');
  const count = Math.ceil(lines.length / linesAtOnce);
  const stretches = Array.from({ length: count }, (_, at) =>
    lines.slice(at * linesAtOnce, (at + 1) * linesAtOnce).join('\n'),
  );
  return (
    <code>
      {stretches.map((stretch, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a stretch is known by its place
        <Stretch key={at} text={at < count - 1 ? `${stretch}\n` : stretch} />
      ))}
    </code>
  );
}

const Stretch = memo(function Stretch({ text }: { readonly text: string }) {
  return <span>{text}</span>;
});
