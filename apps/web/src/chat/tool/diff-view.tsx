import { memo } from 'react';
import { CopyButton } from '../../markdown/copy-button.tsx';
import { type DiffLine, diffLines } from './diff.ts';
import './diff-view.css';

const maxLines = 2000;
const marks = { added: '+', removed: '−', same: '', hunk: '', file: '' } as const;

/** A unified diff in colours, which are not all that tells the lines apart. */
export const DiffView = memo(function DiffView({ diff }: { readonly diff: string }) {
  const all = diffLines(diff);
  const lines = all.slice(0, maxLines);
  const count = (kind: DiffLine['kind']) => all.filter((line) => line.kind === kind).length;
  return (
    <figure className="diff">
      <figcaption className="code-head">
        <span>
          <span className="diff-count" data-kind="added">
            +{count('added')}
          </span>{' '}
          <span className="diff-count" data-kind="removed">
            −{count('removed')}
          </span>
        </span>
        <CopyButton text={diff} label="Copy the diff" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys */}
      <div className="diff-lines" tabIndex={0}>
        {lines.map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its place
          <DiffRow key={at} line={line} />
        ))}
        {all.length > maxLines && <p className="diff-more">{all.length - maxLines} more lines</p>}
      </div>
    </figure>
  );
});

function DiffRow({ line: { kind, text, before, after } }: { readonly line: DiffLine }) {
  const number = kind === 'removed' ? before : after;
  return (
    <div className="diff-line" data-kind={kind}>
      <span className="diff-number">{number}</span>
      <span className="diff-mark">{marks[kind]}</span>
      <span className="diff-text">{text === '' ? ' ' : text}</span>
    </div>
  );
}
